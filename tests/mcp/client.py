"""A client of the Model Context Protocol for the tests. It is our own, because no package knows all
revisions, and needs only Python. If jsonschema and the protocol's schemas are available, every line
is checked against them."""
import json
import os
import subprocess
import threading

LEGACY = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25']
MODERN = '2026-07-28'
META = 'io.modelcontextprotocol/'

try:  # releases before 4 do not know the draft of the schemas
    import jsonschema
    jsonschema.Draft202012Validator
except (ImportError, AttributeError):
    jsonschema = None


class Schemas:
    """The schemas of the protocol, by revision, and those that the tools give."""

    RESULTS = {
        'initialize': 'InitializeResult', 'server/discover': 'DiscoverResult',
        'ping': 'Result', 'tools/list': 'ListToolsResult',
        'tools/call': 'CallToolResult', 'resources/list': 'ListResourcesResult',
        'resources/templates/list': 'ListResourceTemplatesResult',
        'resources/read': 'ReadResourceResult',
        'prompts/list': 'ListPromptsResult', 'prompts/get': 'GetPromptResult',
    }

    def __init__(self, folder):
        self.folder = folder
        self.known = {}
        self.checked = 0

    def validator(self, revision, name):
        key = (revision, name)
        if key not in self.known:
            path = os.path.join(self.folder, revision, 'schema.json')
            if jsonschema is None or not os.path.exists(path):
                self.known[key] = None
            else:
                with open(path) as f:
                    whole = json.load(f)
                place = '$defs' if '$defs' in whole else 'definitions'
                schema = {'$schema': whole['$schema'], place: whole[place],
                          '$ref': '#/%s/%s' % (place, name)}
                self.known[key] = jsonschema.validators.validator_for(schema)(schema)
        return self.known[key]

    def check(self, revision, message, method=None):
        """Raises an error if the line violates the protocol."""
        pairs = [('JSONRPCMessage', message)]
        if method and 'result' in message:
            pairs.append((self.RESULTS[method], message['result']))
        if message.get('method') == 'notifications/progress':
            pairs.append(('ProgressNotification', message))
        for name, value in pairs:
            v = self.validator(revision, name)
            if v:
                v.validate(value)
                self.checked += 1


class Client:
    def __init__(self, program, roots, revision=MODERN, schemas=None, options=(),
                 wrapper=()):
        command = [*wrapper, program, 'mcp', *options]
        for r in roots:
            command += ['--root', r]
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.revision = revision
        self.schemas = schemas
        self.n = 0
        self.log = []
        self.tools = {}
        self.checks = {}
        self.program = program
        self.noise = []
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()
        if revision in LEGACY:
            self.hello = self.ask('initialize', {
                'protocolVersion': revision, 'capabilities': {},
                'clientInfo': {'name': 'test', 'version': '1'}})
            self.tell('notifications/initialized')

    def _drain(self):
        for line in self.p.stderr:
            self.noise.append(line)

    def send(self, message):
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.p.stdin.write(line + b'\n')
        self.p.stdin.flush()

    def tell(self, method, params=None):
        self.send({'jsonrpc': '2.0', 'method': method, **({'params': params} if params else {})})

    def post(self, method, params=None, token=None):
        """Sends a request and returns its id."""
        self.n += 1
        params = dict(params or {})
        meta = {}
        if self.revision == MODERN:
            meta = {META + 'protocolVersion': MODERN, META + 'clientCapabilities': {}}
        if token is not None:
            meta['progressToken'] = token
        if meta:
            params['_meta'] = meta
        self.send({'jsonrpc': '2.0', 'id': self.n, 'method': method, 'params': params})
        return self.n

    def read(self, method=None):
        line = self.p.stdout.readline()
        if not line:
            return None
        message = json.loads(line)
        self.log.append(line)
        if self.schemas:
            self.schemas.check(self.revision, message, method)
        return message

    def ask(self, method, params=None, token=None):
        """Returns the answer; notifications before it go to self.told."""
        want = self.post(method, params, token)
        self.told = []
        while True:
            message = self.read(method)
            if message is None:
                raise EOFError('no answer to ' + method)
            if message.get('id') == want:
                return message
            self.told.append(message)

    def learn_tools(self):
        for tool in self.ask('tools/list')['result']['tools']:
            self.tools[tool['name']] = tool
            if jsonschema:
                whole = json.loads(subprocess.run([self.program, 'schema-json', 'tool:' + tool['name']],
                                                  capture_output=True).stdout)
                self.checks[tool['name']] = [jsonschema.Draft202012Validator(x) for x in (
                    tool['inputSchema'], tool.get('outputSchema', {}), whole['properties']['structuredContent'])]
        return list(self.tools)

    def call(self, tool, token=None, **arguments):
        """The result of a tool, checked against the schemas that the tool gave and that the program prints."""
        if tool in self.checks:
            self.checks[tool][0].validate(arguments)
        result = self.ask('tools/call', {'name': tool, 'arguments': arguments}, token)['result']
        for output in self.checks.get(tool, [])[1:]:
            output.validate(result['structuredContent'])
        return result

    def follow(self, step):
        return self.call(step['tool'], **step['arguments'])

    def close(self):
        self.p.stdin.close()
        rest = self.p.stdout.read()
        self.p.stdout.close()
        code = self.p.wait(timeout=60)
        return code, rest


def text_of(result):
    return result['content'][0]['text']


def content_of(result):
    return result['structuredContent']
