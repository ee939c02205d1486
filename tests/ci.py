"""Checks the files of examples/ci as the two services do, and writes each script to a file of its own.
usage: ci.py github|gitlab FILE FOLDER
"""
import os, re, subprocess, sys
import yaml

kind, path, folder = sys.argv[1:]
doc = yaml.safe_load(open(path))
scripts = {}

def refuse(ok, *what):
    if not ok:
        sys.exit(f"{path}: " + " ".join(map(str, what)))

def keys(x, known, what):
    refuse(set(x) <= set(known.split()), what, "has an unknown key:", *sorted(map(str, set(x) - set(known.split()))))

def needs(jobs, name, seen=()):
    refuse(name not in seen, name, "needs itself")
    for n in jobs[name].get("needs", []) if isinstance(jobs[name].get("needs", []), list) else [jobs[name]["needs"]]:
        refuse(n in jobs, name, "needs", n, "which is no job")
        yield n
        yield from needs(jobs, n, (*seen, name))

def check_variables(script, given, what):
    set_here = set(re.findall(r"\b([A-Za-z_]\w*)=", script)) | set(re.findall(r"for (\w+) in", script))
    for v in re.findall(r"\$\{?([A-Za-z_]\w*)", re.sub(r"'[^']*'", "", script)):
        refuse(v in given or v in set_here or v.startswith(("GITHUB_", "CI_")), what, "uses", v, "which nobody sets")

def check_github():
    keys({k for k in doc if k is not True}, "name permissions jobs", "the workflow")  # YAML reads the key `on` as true
    refuse(True in doc, "nothing starts the workflow")
    uploaded = {}
    for name, job in doc["jobs"].items():
        keys(job, "needs runs-on steps", name)
        refuse(job.get("runs-on"), name, "runs nowhere")
        before = list(needs(doc["jobs"], name))
        outputs = {}
        for i, step in enumerate(job["steps"]):
            what = f"{name}, step {step.get('name', i)}"
            keys(step, "name id if env uses with run", what)
            refuse(("uses" in step) != ("run" in step), what, "must have one of uses and run")
            for used in re.findall(r"\$\{\{ *(.*?) *\}\}", str(step)):
                found = re.fullmatch(r"steps\.(\w+)\.outputs\.(\w+)", used)
                refuse(re.fullmatch(r"(github|vars)(\.\w+)+", used) or (found and found[2] in outputs.get(found[1], ())),
                       what, "uses", used, "which no earlier step sets")
            if "uses" in step:
                refuse(re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"]), what, "names no version")
                artifact = step.get("with", {}).get("name")
                if "upload-artifact" in step["uses"]:
                    uploaded[artifact] = name
                if "download-artifact" in step["uses"]:
                    refuse(uploaded.get(artifact) in before, what, "wants", artifact, "of a job that it does not need")
                continue
            run, env = step["run"], step.get("env", {})
            refuse("${{" not in run, what, "lets the shell read a value")
            check_variables(run, env, what)
            if "gh api" in run:
                refuse("GH_TOKEN" in env and doc["permissions"].get("pull-requests") == "write", what, "may not comment")
                refuse("head.repo.full_name" in step.get("if", ""), what, "fails on a fork, whose token may only read")
            outputs[step.get("id")] = re.findall(r'echo "(\w+)=.*GITHUB_OUTPUT', run)
            scripts[step["name"]] = run

def check_gitlab():
    for name, job in doc.items():
        keys(job, "stage tags image variables needs rules before_script script artifacts", name)
        refuse(job.get("stage", "test") in ("build", "test", "deploy"), name, "has no stage of the default ones")
        refuse("image" in job or "tags" in job, name, "gets whatever image there is")
        list(needs(doc, name))
        for part in ("before_script", "script"):
            scripts[f"{name}.{part}"] = "\n".join(job.get(part, []))
        check_variables("\n".join(map(scripts.get, (f"{name}.before_script", f"{name}.script"))),
                        {"NOTE_TOKEN", "NSYS_EXPLAIN_SOURCE", *job.get("variables", {})}, name)
        if "checkout" in scripts[f"{name}.script"]:
            refuse(job.get("variables", {}).get("GIT_DEPTH") == 0, name, "checks out what a shallow clone lacks")
        for report in job.get("artifacts", {}).get("reports", {}).values():
            refuse(report in scripts[f"{name}.script"] or report == "gl-code-quality-report.json", name, "does not write", report)

{"github": check_github, "gitlab": check_gitlab}[kind]()
for name, script in scripts.items():
    to = os.path.join(folder, f"{kind}.{name}.sh")
    open(to, "w").write(script)
    refuse(not subprocess.run(["bash", "-n", to]).returncode, name, "is no shell script")
