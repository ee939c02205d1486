"""Checks a SARIF file against what version 2.1.0 of the standard (OASIS, sections 3.13 to 3.52) says of the objects that
nsys-explain writes, and that the check notices each property that is missing, of another type or unknown.
usage: sarif.py FILE
"""
import copy, json, sys
import jsonschema

def object_of(properties, *required, **more):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False, **more}

text, count = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 1}
# The standard leaves most properties open; those in the second list must be there.
message = object_of({"text": text, "id": text, "markdown": text}, anyOf=[{"required": ["text"]}, {"required": ["id"]}])
rule = object_of({"id": text, "name": text, "shortDescription": object_of({"text": text}, "text")}, "id")
driver = object_of({"name": text, "version": text, "semanticVersion": text, "informationUri": {"type": "string", "format": "uri"},
                    "rules": {"type": "array", "items": rule, "uniqueItems": True}}, "name")
artifact = object_of({"uri": {"type": "string", "format": "uri-reference", "pattern": "^[!-~]+$"}, "uriBaseId": text})
region = object_of({"startLine": count, "startColumn": count, "endLine": count, "endColumn": count})
physical = object_of({"artifactLocation": artifact, "region": region}, "artifactLocation")  # or an address, which we never write
result = object_of({"ruleId": text, "ruleIndex": {"type": "integer", "minimum": -1}, "message": message,
                    "level": {"enum": ["none", "note", "warning", "error"]},
                    "kind": {"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
                    "locations": {"type": "array", "items": object_of({"physicalLocation": physical})},
                    "partialFingerprints": {"type": "object", "additionalProperties": {"type": "string"}}}, "message")
run = object_of({"tool": object_of({"driver": driver}, "driver"), "results": {"type": "array", "items": result}}, "tool")
schema = object_of({"$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"},
                    "runs": {"type": "array", "items": run}}, "version", "runs")

validator = jsonschema.Draft7Validator(schema)
doc = json.load(open(sys.argv[1], encoding="utf-8"))
for e in validator.iter_errors(doc):
    sys.exit(f"{'/'.join(map(str, e.path))}: {e.message}")

def objects(schema, x):
    """The objects of a document, each with what the schema says of it."""
    if schema.get("type") == "object" and "properties" in schema:
        yield schema, x
        for k in x:
            yield from objects(schema["properties"][k], x[k])
    elif schema.get("type") == "array":
        for v in x:
            yield from objects(schema["items"], v)

for i, (about, _) in enumerate(objects(schema, doc)):
    for key in about["required"] or (["text"] if about is message else []):
        for value in (None, 7.5):  # None: the property is missing
            broken = copy.deepcopy(doc)
            _, x = list(objects(schema, broken))[i]
            if value:
                x[key] = value
            else:
                del x[key]
            assert not validator.is_valid(broken), (i, key, value)
    broken = copy.deepcopy(doc)
    list(objects(schema, broken))[i][1]["unknown"] = 1
    assert not validator.is_valid(broken), (i, "unknown")
