import { expect } from 'chai';
import { inspect } from 'node:util';
import { createRedactor } from '../../app/profiler/masking/redact.ts';
import { argumentsOf } from '../../app/profiler/masking/redis-arguments.ts';
import { cpuMsOf } from '../support/waiting.ts';

const SECRET = 'correct horse+battery/staple';
/** In a single text. */
const MASK = '[masked]';
const FIRST = '[masked 1, string]';
const redactor = createRedactor({ secrets: { APP_SECRET: SECRET, SHORT: 'abc' } });

function textOf(value: unknown): string {
  return JSON.stringify(redactor.tree(value).value);
}

describe('masking', () => {
  for (const text of [
    '<input placeholder="Password" value="Zk83hQvT1x">',
    '<input autocomplete="current-password" name="a" value="Zk83hQvT1x">',
    '{"op":"replace","path":"urn:ietf:params:scim:schemas:core:2.0:User:password","value":"Zk83hQvT1x"}',
    'O:4:"User":1:{s:14:"\0User\0password";s:10:"Zk83hQvT1x";}',
    'password|s:10:"Zk83hQvT1x";user|s:3:"bob";',
  ])
    it(`masks the value in ${JSON.stringify(text)}`, () => {
      expect(redactor.text(text)).to.not.include('Zk83hQvT1x');
      expect(textOf({ text })).to.not.include('Zk83hQvT1x');
    });

  it('leaves values beside other names in the same forms', () => {
    for (const text of [
      '<input placeholder="Search" value="abc12345">',
      '{"op":"replace","path":"urn:ietf:params:scim:schemas:core:2.0:User:userName","value":"bob12345"}',
      'theme|s:8:"dark1234";',
    ])
      expect(redactor.text(text)).to.equal(text);
  });

  for (const name of ['orderKey', 'filterKey', 'columnKey', 'tabKey', 'labelKey', 'issueKey', 'promptTokens'])
    it(`takes ${name} for the name of something`, () => {
      const url = `/?${name}=created_at`;
      expect(redactor.tree({ url }).value).to.deep.equal({ url });
    });

  it('leaves names in a statement readable, though a parameter was named like a secret, and masks its texts', () => {
    const sql = `select created_at from orders where a = 'created_at' and b = 'hunter2222' order by created_at`;
    const query = { sortToken: 'created_at', password: 'hunter2222', nextToken: 'PLATFORM_1234' };
    expect(redactor.tree({ query, facts: [{ sql }], message: 'by created_at' }).value).to.deep.equal({
      query: {
        sortToken: '[masked 1, string]',
        password: '[masked 2, string]',
        nextToken: '[masked 3, string]',
      },
      facts: [
        {
          sql: `select created_at from orders where a = '[masked 1, string]' and b = '[masked 2, string]' order by created_at`,
        },
      ],
      message: 'by [masked 1, string]',
    });
  });

  const spellings: [string, string][] = [
    ['plain', SECRET],
    ['percent-encoded', encodeURIComponent(SECRET)],
    ['form-encoded', encodeURIComponent(SECRET).replaceAll('%20', '+')],
    ['in lower-case escapes', encodeURIComponent(SECRET).replace(/%../g, (code) => code.toLowerCase())],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64 after one byte', Buffer.from(`:${SECRET}`).toString('base64')],
    ['in base64 after two bytes', Buffer.from(`a:${SECRET}!`).toString('base64')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
  ];
  for (const [how, spelling] of spellings) {
    it(`finds a known value ${how}, in values, names and texts`, () => {
      const core = spelling.slice(3, -5);
      expect(textOf({ deep: [{ note: `before ${spelling} after`, [`k ${spelling}`]: 1 }] })).to.not.contain(
        core,
      );
      expect(redactor.text(`x=${spelling}`)).to.not.contain(core);
    });
  }

  it('masks the password of an address that stands percent-encoded in another', () => {
    const address = 'https://bob:hunter22@shop.example/?a=b';
    const once = encodeURIComponent(address);
    const twice = encodeURIComponent(`/go?next=${once}`);
    for (const encoded of [once, once.toLowerCase(), twice, encodeURIComponent(twice)]) {
      const text = redactor.text(`/login?u=${encoded}&page=2`);
      expect(text)
        .to.contain(`bob%`)
        .and.to.match(/shop\.example.*page=2$/);
      expect(text).to.not.contain('hunter22');
    }
    for (const plain of ['/a?u=https%3A%2F%2Fshop.example%2F%40bob', '/a?m=bob%40shop.example&t=12%3A30'])
      expect(redactor.text(plain)).to.equal(plain);
  });

  it('masks variables of GraphQL by the argument that takes them, and keeps the others', () => {
    const query = 'mutation ($n: String!, $p: String!) { login(name: $n, password: $p) { id } }';
    const variables = { n: 'ada', p: 'planted-secret-1', page: 2 };
    for (const name of ['query', 'document']) {
      const { value } = redactor.tree({ [name]: query, variables, log: 'got planted-secret-1 of ada' });
      expect(value).to.deep.include({ [name]: query, log: `got ${FIRST} of ada` });
      expect(value.variables).to.deep.include({ n: 'ada', p: FIRST });
    }
    expect(redactor.tree({ query: 'query { a(id: $p) }', variables }).value.variables).to.deep.include({
      p: 'planted-secret-1',
    });
    expect(redactor.tree({ query, variables: null }).value).to.deep.equal({ query, variables: null });
  });

  it('masks tokens among the protocols of a WebSocket, and keeps their names', () => {
    const shown = (value: string) => redactor.tree({ name: 'Sec-WebSocket-Protocol', value });
    const secrets: [string, string][] = [
      ['bearer, plantedOne', `bearer, ${FIRST}`],
      ['graphql-ws,access_token,plantedOne', `graphql-ws,access_token,${FIRST}`],
      [
        'v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.cGxhbnRlZE9uZQ',
        `v4.channel.k8s.io, ${FIRST}`,
      ],
      ['9f86d081884c7d65', FIRST],
      ['plantedOne/with+signs==', FIRST],
      ['mqtt, s3cretPlanted', `mqtt, ${FIRST}`],
    ];
    for (const [value, result] of secrets) expect(shown(value).value.value).to.equal(result);
    for (const value of [
      'graphql-transport-ws',
      'soap, wamp.2.json',
      'base64.channel.k8s.io',
      'ocpp2.0.1, mqtt',
      'MBWS.huawei.com',
      'v12.stomp',
    ])
      expect(shown(value)).to.deep.include({ value: { name: 'Sec-WebSocket-Protocol', value }, masked: [] });
    expect(
      textOf({
        headers: [{ name: 'sec-websocket-protocol', value: 'mqtt, bearer, plantedOne' }],
        log: 'plantedOne mqtt',
      }),
    )
      .to.contain(`${FIRST} mqtt`)
      .and.not.contain('planted');
    expect(redactor.text('Sec-WebSocket-Protocol: bearer, plantedOne')).to.not.contain('planted');
  });

  it('masks what a request gave as a secret wherever else it turns up', () => {
    const { value, masked } = redactor.tree({
      form: { password: 'planted-secret-1' },
      queries: [{ sql: 'select 1', bindings: ['planted-secret-1'] }],
      message: 'wrong: planted-secret-1!',
    });
    expect(JSON.stringify(value)).to.not.contain('planted-secret-1');
    expect(masked.map(({ rule }) => rule)).to.include.members(['name', 'given as secret']);
    expect(masked.map(({ where }) => where)).to.include('queries[0].bindings[0]');
  });

  it('masks what a signed cookie signs, such as the id of a session, wherever else it turns up', () => {
    const id = 'p9KjydSuDtJo1dz41pskeJLGBzfkZWRm';
    const signature = 'A0b/'.repeat(11).slice(0, 43);
    for (const cookie of [`sid=s%3A${id}.${encodeURIComponent(signature)}`, `sid=${id}.${signature}%3D`])
      for (const name of ['cookie', 'set-cookie']) {
        const text = textOf({ headers: { [name]: cookie }, line: `of sess:${id}` });
        expect(text, cookie).to.match(/of sess:\[masked/);
      }
  });

  it('gives equal values of one record the same mark, with their type', () => {
    const { value } = redactor.tree({
      headers: [
        { name: 'authorization', value: 'Bearer planted-secret-1' },
        { name: 'cookie', value: 'sid=planted-secret-2; theme=planted-secret-1' },
      ],
      form: { password: 'planted secret 3', pin: 4711, otp: '4711' },
      url: '/a?password=planted%20secret%203&x=1',
      json: '{"password":"planted secret 3","pin":4711,"tokens":["planted-secret-2"]}',
      log: 'it was planted-secret-2, planted+secret+3 and planted-secret-4',
    });
    expect(value).to.deep.equal({
      headers: [
        { name: 'authorization', value: 'Bearer [masked 1, string]' },
        { name: 'cookie', value: 'sid=[masked 2, string]; theme=[masked 1, string]' },
      ],
      form: { password: '[masked 3, string]', pin: '[masked 4, number]', otp: '[masked 5, string]' },
      url: '/a?password=[masked 3, string]&x=1',
      json: '{"password":"[masked 3, string]","pin":"[masked 4, number]","tokens":["[masked 2, string]"]}',
      log: 'it was [masked 2, string], [masked 3, string] and planted-secret-4',
    });
    expect(JSON.parse(value.json)).to.deep.include({ pin: '[masked 4, number]' });
  });

  it('keeps marks that a text has already, and takes nothing that a client sends for one of its own', () => {
    const again = 'password=[masked 3, string]&token=planted-secret-1 and password: [masked]';
    expect(redactor.tree({ again }).value.again).to.equal(
      'password=[masked 3, string]&token=[masked 1, string] and password: [masked]',
    );
    expect(redactor.text(redactor.text(again))).to.equal(
      'password=[masked 3, string]&token=[masked] and password: [masked]',
    );
    for (const forged of ['\ufdd0\ufdd1', encodeURIComponent('\ufdd0\ufdd1')])
      expect(redactor.text(`/a/${forged}/b`))
        .to.not.contain('masked')
        .and.not.contain('\ufdd0');
  });

  it('masks what comes late with what it learned from the record', () => {
    const { value, masked, maskLate } = redactor.tree({ form: { password: 'planted-secret-1' } });
    const before = [...masked];
    expect(maskLate({ plan: "filter: name = 'planted-secret-1'", token: 'planted-secret-2' })).to.deep.equal({
      plan: "filter: name = '[masked 1, string]'",
      token: '[masked 2, string]',
    });
    expect(maskLate(['planted-secret-2'])).to.deep.equal(['[masked 2, string]']);
    expect(value).to.deep.equal({ form: { password: '[masked 1, string]' } });
    expect(masked).to.deep.equal(before);
  });

  it('masks no text that says nothing, whatever its name', () => {
    const given = { token: '', secret: 'null', password: 'undefined', otp: 'false' };
    const headers = [{ name: 'access-control-allow-credentials', value: 'true' }];
    expect(redactor.tree({ ...given, headers }).value).to.deep.equal({ ...given, headers });
    for (const text of [
      'token=; Path=/logout',
      'update a set password = SHA2(?, 256)',
      'set password = crypt($1, x)',
    ])
      expect(redactor.text(text)).to.equal(text);
  });

  it('leaves the separator of cookies where it is', () => {
    expect(redactor.text('token=planted-secret-1; Path=/')).to.equal('token=[masked]; Path=/');
  });

  it('keeps what is public: own headers, schemes, names of cookies, words that only look alike', () => {
    const kept = {
      headers: [
        { name: 'x-debug-token', value: '3fa9c1' },
        { name: 'Authorization', value: 'Bearer planted-secret-1' },
        { name: 'cookie', value: 'theme=planted-secret-1' },
      ],
      author: 'Jane Author',
      keyboard: 'qwerty',
      compass: 'north',
      url: '/search?q=pass&monkey=1',
    };
    const text = textOf(kept);
    for (const word of [
      '3fa9c1',
      'Bearer ',
      'theme=',
      'Jane Author',
      'qwerty',
      'north',
      'q=pass',
      'monkey=1',
    ])
      expect(text).to.contain(word);
  });

  it('keeps the shape of what lies below a secret name', () => {
    const { value } = redactor.tree({ cookies: [{ secure: true, lifetime: null, text: 'x' }] });
    expect(value).to.deep.equal({ cookies: [{ secure: true, lifetime: null, text: FIRST }] });
  });

  it('leaves types and placeholders readable, and masks literals in source', () => {
    const tree = (lines: string[]) => ({
      panels: { exception: { data: { frames: [{ excerpt: { from: 1, lines } }] } } },
      sql: 'select * from users where password = $1 and pin=?',
    });
    const lines = ['  token: string;', "  password: 'planted-secret-1',", 'secret=read()'];
    expect(redactor.tree(tree(lines)).value).to.deep.equal(
      tree(['  token: string;', `  password: '${FIRST}',`, 'secret=read()']),
    );
    const keys = [
      "tokenSecret: process.env.SECRET ?? 'planted-secret-1', port: env.PORT ?? '80',",
      "const key = createHmac('sha256', 'planted-secret-1').update('text');",
      "jwt.verify(token.slice(7), 'planted-secret-1')",
      "new Sequelize('shop', `app`, 'planted-secret-1', { host: '10.0.0.1' })",
      "const hash = digest('planted-secret-1', 'a1').toString('base64');",
      "const apiKeys = new Map([['planted-secret-1', { id: 1 }]]);",
      "export const keys: string[][] = [['North', 'planted-secret-1']];",
      "const keys = ['id', 'name']; const rest = ['a-long-name-1'];",
    ];
    expect(redactor.tree(tree(keys)).value).to.deep.equal(
      tree(keys.map((line) => line.replace('planted-secret-1', FIRST))),
    );
    // A client can't have its fields taken for source.
    expect(textOf({ body: { frames: [{ excerpt: 'password: planted-secret-1' }] } })).to.not.contain(
      'planted',
    );
  });

  /** Lines of code, as a recorded error has them. */
  function maskedLines(lines: readonly string[]): string[] {
    const shown = redactor.tree({
      panels: { exception: { data: { frames: [{ excerpt: { from: 1, lines } }] } } },
    });
    return shown.value.panels.exception.data.frames.flatMap(({ excerpt }) => excerpt.lines);
  }

  for (const line of [
    "const TOKEN: string | null = 'planted-secret-1';",
    'private readonly apiKey: string = "planted-secret-1";',
    "const secret = Buffer.from('planted-secret-1', 'hex');",
    "jwt.sign(claims, process.env.JWT_SECRET || 'planted-secret');",
    "process.env['DB_PASSWORD'] ??= 'planted-secret';",
    "if (req.headers['x-api-key'] !== 'planted-secret-1') deny();",
    "return password === 'planted-secret-1';",
    "this.token ??= 'planted-secret-1';",
    "res.set('x-api-key', 'planted-secret-1');",
    "if ('planted-secret-1' === req.get('x-api-key')) next();",
    "return 'planted-secret-1' == request.body?.password;",
    "user.setPassword('planted-secret-1');",
    "app.use(basicAuth({ users: { admin: 'planted-secret' } }));",
    '/** The admin password is planted-secret-1 */',
    'call(); // password: planted-secret-1',
    "execSync('curl -u bob:planted-secret-1 http://localhost');",
    "db.query(`insert into users (name, password) values ('bob', 'planted-secret-1')`);",
    "text: greeting + '\\npassword: planted-secret-1',",
  ])
    it(`masks the literal in the code ${line}`, () => {
      const [shown] = maskedLines([line]);
      expect(shown).to.equal(line.replace(/planted-secret(?:-1)?/, FIRST));
    });

  it('leaves code that only has such names', () => {
    const lines = [
      "if (typeof password !== 'string' || auth.kind === 'basic') return;",
      "body('password', 'Password is too short, 8 at least');",
      "const type = token ?? 'none', key = require('./key2');",
      '// password: the one of the user, as bcrypt2 made it',
      'const sql = `select a from t where t.token = t2.token_2 and t.password = :password1`;',
      '  token: Map<string, Token2>;',
      "const users = [{ name: 'bob2', role: 'admin2' }], byName = { users: { bob: { role: 'admin2' } } };",
      "if ('x-token-2' in headers || 'v2' === api.token) setPassword('password', 'a b c 2');",
    ];
    expect(maskedLines(lines)).to.deep.equal(lines);
  });

  const KEY = [
    '-----BEGIN PRIVATE KEY-----',
    ...Array.from({ length: 20 }, (_, at) => `planted${at}`.padEnd(64, 'A')),
    '-----END PRIVATE KEY-----',
  ];
  for (const [what, key] of [
    ['several lines', [`const key = \`${KEY[0]}`, ...KEY.slice(1, -1), `${KEY.at(-1)}\`;`]],
    ['joined lines', ['const key =', ...KEY.map((line) => `  "${line}\\n" +`), '  "";']],
  ] as const) {
    it(`masks a key in ${what}, and moves no line`, () => {
      const after = ['', 'function total() {', '  return 1;', '}'];
      const shown = maskedLines(['// first', ...key, ...after]);
      expect(shown.join('\n')).to.not.contain('planted');
      expect(shown).to.have.length(key.length + 5);
      expect(shown.slice(-4)).to.deep.equal(after);
      expect(shown[0]).to.equal('// first');
    });

    it(`masks the rest of a key in ${what} that begins above the excerpt`, () => {
      const shown = maskedLines([...key.slice(9), 'const after = 1;']);
      expect(shown.join('\n')).to.not.contain('planted');
      expect(shown.at(-1)).to.equal('const after = 1;');
    });
  }

  it('leaves no letter of a known value that is in base64', () => {
    for (const secret of ['hunter2-hunter', 'hunter2-hunter2', 'hunter2-hunter22']) {
      const shown = createRedactor({ secrets: { KEY: secret } }).text(Buffer.from(secret).toString('base64'));
      expect(Buffer.from(shown.replace(MASK, ''), 'base64').toString(), shown).to.not.match(/\w/);
    }
  });

  const LONG = 'planted-secret-1'.repeat(400);
  const whole: [string, string][] = [
    ['a word', `password: ${LONG}`],
    ['a quoted word', `password="${LONG}" x`],
    ['an element', `<password>${LONG}</password>`],
    ['an element cut off', `<a><password>${LONG}`],
    ['a CDATA section', `<password><![CDATA[${LONG}]]></password>`],
    ['a field in HTML', `<input type="password" name="password" value="${LONG}">`],
    ['a query with quotes and brackets', `/x?password=a)';${LONG}`],
    ['JSON in a query', `/x?a=${encodeURIComponent(JSON.stringify({ token: LONG }))}&b=1`],
    ['a list in broken JSON', `{"password":["${LONG}",{"a":"${LONG}"`],
    ['an escaped name in JSON', `{"pass\\u0077ord":"${LONG}"}`],
    ['JSON three strings deep', JSON.stringify({ a: JSON.stringify({ b: JSON.stringify({ pwd: LONG }) }) })],
    ['JSON behind a stray quote', `say "hi: {"password":"${LONG}"}`],
    ['a header line', `cookie: a=${LONG}; b=${LONG}\nnext`],
    ['a pair inside quotes', `user: "bob password=${LONG}"`],
    ['a multipart field', `--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n${LONG}\r\n--b--`],
    ['an encoded query name', `/login?pass%77ord=${LONG}`],
    ['a private key cut off', `-----BEGIN PRIVATE KEY-----\n${LONG}`],
  ];
  for (const [what, text] of whole) {
    it(`masks a long value whole: ${what}`, () => {
      expect(redactor.text(text)).to.contain(MASK).and.to.not.contain('planted');
    });
  }

  it('masks cookies without a name', () => {
    expect(
      textOf({ name: 'cookie', value: 'planted-secret-1; a=planted-secret-1; planted-secret-1' }),
    ).to.not.contain('planted');
    expect(textOf({ name: 'set-cookie', value: 'planted-secret-1; Path=/' })).to.not.contain('planted');
  });

  it('masks the half of a known value that a limit of length left', () => {
    const padding = 'x'.repeat(100);
    for (const half of [
      SECRET.slice(0, 12),
      encodeURIComponent(SECRET).slice(0, 12),
      Buffer.from(SECRET).toString('base64').slice(0, 12),
    ]) {
      for (const text of [
        padding + half,
        `${half}… (9 more characters)`,
        `${half}… (9 more characters) and more`,
        `at “${half}…”`,
      ])
        expect(redactor.text(text), text).to.not.contain(half.slice(0, 6));
    }
  });

  it('finds a known value in any mixture of escapes, and in hexadecimal', () => {
    const characters = Array.from(SECRET);
    const mixed = [
      characters.map((c) => `%${c.charCodeAt(0).toString(16)}`).join(''),
      characters
        .map((c, i) => (i % 2 === 0 ? c : `%25${c.charCodeAt(0).toString(16).toUpperCase()}`))
        .join(''),
      characters.map((c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
      Buffer.from(SECRET).toString('hex'),
    ];
    for (const text of mixed) expect(redactor.text(`a ${text} b`)).to.equal(`a ${MASK} b`);
  });

  it('masks what util.inspect prints inside of a value with a secret name', () => {
    const secret = 'hunter2kitten';
    class Holder {
      held = secret;
    }
    const values: readonly unknown[] = [
      new Set([secret]),
      new Set([`it's ${secret}`, `a\n${secret}`]),
      new (class Names extends Set {})([secret]),
      new Map<unknown, unknown>([['a', { b: new Set([[secret]]) }]]),
      new Set([secret]).values(),
      new Map([[1, secret]]).entries(),
      { value: secret, at: new Date(0) },
      new Holder(),
      Object.assign(Object.create(null) as object, { v: secret }),
      Object(secret),
      Promise.resolve(secret),
      Object.assign(() => undefined, { v: secret }),
    ];
    for (const value of values)
      for (const holder of [
        { password: value, other: ['seen 1', 2] },
        new Map<unknown, unknown>([['password', value], ['other', ['seen 1', 2]]]), // prettier-ignore
        { [Symbol('password')]: value, other: ['seen 1', 2] },
        { fields: { name: 'password', value }, other: ['seen 1', 2] },
      ])
        for (const compact of [3, false]) {
          const text = inspect(holder, { depth: 9, compact });
          expect(text).to.include(secret);
          expect(redactor.text(text), text).to.match(/^(?!.*hunter2).*'seen 1',\s+2\s/s);
          // One that was cut.
          expect(redactor.text(text.slice(0, text.indexOf(secret) + 10))).to.not.include('hunter2');
        }
    expect(redactor.text('{ password: <Buffer 68 75 6e 74 65 72>, n: 1 }')).to.equal(
      `{ password: ${MASK}, n: 1 }`,
    );
    expect(redactor.text('{ password: Set(1) { 123456 }, n: 1 }')).to.equal(
      `{ password: Set(1) { ${MASK} }, n: 1 }`,
    );
    for (const text of ['token: [ ] to do', 'password: {', 'login(password): Promise { <pending> }'])
      expect(redactor.text(text)).to.equal(text);
  });

  it('masks a key that is a text: JSON that was sent as a form, an address in a cache', () => {
    const { value, masked } = redactor.tree({
      body: { '{"user":"bob","password":"hunter2kitten"}': '' },
      cache: { '/orders?token=hunter2kitten&page=2': true },
    });
    expect(value).to.deep.equal({
      body: { [`{"user":"bob","password":"${FIRST}"}`]: '' },
      cache: { [`/orders?token=${FIRST}&page=2`]: true },
    });
    expect(masked).to.deep.equal([]);
  });

  it('names masked places without the secret in a key', () => {
    const { masked } = redactor.tree({ [`k ${SECRET}`]: { [SECRET]: SECRET } });
    expect(masked).to.have.length(1);
    expect(JSON.stringify(masked)).to.not.contain('horse');
  });

  it('leaves short known values in ordinary words', () => {
    expect(redactor.text('abcdef')).to.equal('abcdef');
  });

  it('survives hostile trees: deep nesting, __proto__, long strings', () => {
    let deep: unknown = 'planted-secret-1';
    for (let i = 0; i < 5000; i++) deep = [deep];
    const proto = JSON.parse('{"__proto__":{"password":"planted-secret-1"},"a":1}') as unknown;
    const text = textOf({ deep, proto, long: 'x'.repeat(1_000_000) });
    expect(text).to.contain('more characters');
    expect(text).to.not.contain('planted-secret-1');
    expect(Object.getPrototypeOf({})).to.not.have.property('password');
  });

  it('masks the same when a text, a page or a session comes again', () => {
    const tree = () => ({
      headers: [{ name: 'cookie', value: 'sid=planted-secret-1' }],
      page: `<p>${'a page of some length '.repeat(50)}</p>`,
      log: 'planted-secret-1 was seen',
      panels: { exception: { data: { frames: [{ excerpt: { lines: ['token: string'] } }] } } },
      message: 'token: string',
    });
    const first = redactor.tree(tree());
    expect(JSON.stringify(first)).to.not.contain('planted');
    // An excerpt says nothing about the same text elsewhere.
    expect(first.value.message).to.equal('token: [masked 2, string]');
    for (let round = 0; round < 3; round++) expect(redactor.tree(tree()).value).to.deep.equal(first.value);
  });

  it('adds no field that a host has given to all objects', () => {
    const given = { form: { password: 'planted-secret-1' }, list: [{ name: 'x' }] };
    Object.defineProperty(Object.prototype, 'planted', {
      value: 'token: planted-secret-2',
      enumerable: true,
      configurable: true,
    });
    const { value } = redactor.tree(given);
    Reflect.deleteProperty(Object.prototype, 'planted');
    expect(value).to.deep.equal({ form: { password: FIRST }, list: [{ name: 'x' }] });
  });

  it('lets no client take fields out of its profile by their names', () => {
    const { value } = redactor.tree({ form: { password: 'durationMs' }, durationMs: 12, said: 'durationMs' });
    expect(value).to.deep.equal({ form: { password: FIRST }, durationMs: 12, said: FIRST });
  });

  it('masks given values by their beginning where they are long, in forms, and many of them', () => {
    const long = 'planted-secret-'.repeat(100);
    const many = Array.from({ length: 60 }, (_, index) => `pla${String.fromCharCode(48 + index)}nted-secret`);
    expect(redactor.tree({ token: long, log: `x ${long} y` }).value.log).to.equal(`x ${FIRST} y`);
    const { value } = redactor.tree({
      tokens: ['planted secret one', ...many],
      form: 'a=planted+secret+one&b',
      logs: many.map((secret) => `it was ${secret}, I think`),
    });
    expect(value.form).to.equal(`a=${FIRST}&b`);
    expect(value.logs).to.deep.equal(many.map((_, index) => `it was [masked ${index + 2}, string], I think`));
  });

  it('masks by a name that only appears when a known value is masked inside it, or that is cut', () => {
    const inner = createRedactor({ secrets: { KEY: 'Kx4mJ8vRb2NqYt6WpZc1' } });
    expect(inner.text('/x?apiKx4mJ8vRb2NqYt6WpZc1key=abc123def')).to.equal(`/x?api${MASK}key=${MASK}`);
    expect(inner.text(`<input name="${'x-'.repeat(98)}salted" value="abc123def">`)).to.not.contain('abc123');
  });

  it('masks a value whose name is in a field beside it, as validators and settings have it', () => {
    const rows = [
      { type: 'field', path: 'password', value: 'planted-secret-1', location: 'body' },
      { path: ['user', 'password'], value: 'planted-secret-1' },
      { property: 'password', value: 'planted-secret-1', constraints: {} },
      { key: 'api_key', value: 'planted-secret-1' },
      { Key: 'DB_PASSWORD', Value: 'planted-secret-1' },
      { type: 'password', value: 'planted-secret-1', temporary: false },
      { id: 'api_token', value: 'planted-secret-1' },
      { field: 'password', newValue: 'planted-secret-1' },
      { code: 'too_small', path: ['password'], input: 'planted-secret-1' },
      { instancePath: '/password', data: 'planted-secret-1', message: 'is short' },
      { path: '/password', value: 'planted-secret-1', message: 'Expected a string' },
    ];
    for (const row of rows) {
      const shown = Object.values(redactor.tree(row).value);
      expect(shown, JSON.stringify(row)).to.include(FIRST).and.not.include('planted-secret-1');
    }
    const innocent = { path: '/reset-password', key: 'user:1', value: 'seen' };
    expect(redactor.tree(innocent).value).to.deep.equal(innocent);
  });

  it('masks the value of a JSON Patch by the last name of its pointer, and not that beside an address', () => {
    const patch = (path: string) => ({ op: 'replace', path, value: 'hunter2hunter2' });
    expect(textOf([patch('/users/0/password')])).to.not.contain('hunter2');
    expect(textOf([patch('/users/0/name')])).to.contain('hunter2');
    expect(textOf([{ path: '/reset/password', value: 'hunter2hunter2' }])).to.contain('hunter2');
  });

  it('takes no time over backslashes in the value of a field', () => {
    const field = `<input name="password" value="${'\\'.repeat(16_000)}x">`;
    expect(cpuMsOf(() => redactor.text(field))).to.be.lessThan(100);
    expect(redactor.text('<input name=\\"password\\" value=\\"hunter2\\">')).to.equal(
      `<input name=\\"password\\" value=\\"${MASK}\\">`,
    );
  });

  it('masks columns of CSV by the names in its first line', () => {
    for (const separator of [',', ';', '\t']) {
      const lines = [
        ['email', '"password"', 'name'],
        ['a@b.test', 'hunter2', 'Bob'],
        ['c@d.test', '"hunter3"', ''],
      ];
      const shown = redactor.text(lines.map((line) => line.join(separator)).join('\r\n'));
      expect(shown).to.include('a@b.test').and.include('Bob').and.not.include('hunter');
    }
    const prose = 'Dear Ann, your password\nis short, and old, and known';
    expect(redactor.text(prose)).to.equal(prose);
  });

  it('masks a whole value that has the entity of a quote, an apostrophe or a line break in it', () => {
    for (const text of [
      '{"password":"a&quot;hunter2"}',
      "{ password: 'a&#39;hunter2' }",
      '<div data-page="{&quot;token&quot;:&quot;it\'s hunter2&quot;}">',
      "postgres://bob:a'hunter2@db/shop",
      'id,password\n1,"a\nhunter2"\n',
      'id,password\n",x\n1,hunter2\n',
    ])
      expect(redactor.text(text)).to.not.contain('hunter2');
  });

  it('masks a value of CSV that has the separator or a quote in it', () => {
    expect(redactor.text('email,password,b\na,"x,hunter2 ""y""",c\n"a,b",z1,"c"\n')).to.equal(
      `email,password,b\na,"${MASK}",c\n"a,b",${MASK},"c"\n`,
    );
  });

  it('masks a long text as Node.js prints it, a concatenation of SQL, bytes and the words of a phrase', () => {
    const key = `${'a'.repeat(40)}\n${'hunter2'.repeat(9)}\n`;
    const printed = inspect({ token: key, user: Buffer.from('bob'), secret: Buffer.from('hunter2') });
    expect(redactor.text(printed))
      .to.contain('<Buffer 62 6f 62>')
      .and.not.match(/aaaa|hunter2|68 75/);
    expect(redactor.text("where token = 'a1' || 'hunter2' and b = 'c'")).to.equal(
      `where token = '${MASK}' || '${MASK}' and b = 'c'`,
    );
    expect(redactor.text('mnemonic: abandon ability able about; next')).to.equal(`mnemonic: ${MASK}; next`);
  });

  it('leaves objects below other names, types and ports in addresses as they are', () => {
    for (const text of [
      "{ user: { name: 'bob' }, tokens: [12, 13] }",
      'auth: { type: string }',
      'GET http://localhost:5173/@vite/client',
      'http://127.0.0.1:3000/a?b=c@d',
      'password = crypt($1, gen_salt($2))',
      'https://shop.example/a:b/c@d',
    ])
      expect(redactor.text(text)).to.equal(text);
  });

  it('masks cookies in the entries of headers', () => {
    const entries = Object.entries({
      'content-type': ['a'],
      'set-cookie': ['sid=hunter2; Path=/', 'b=hunter3'],
    });
    const shown = (mark: (number: number) => string) => [
      ['content-type', ['a']],
      ['set-cookie', [`sid=${mark(1)}; Path=/`, `b=${mark(2)}`]],
    ];
    expect(redactor.tree({ entries }).value.entries).to.deep.equal(shown((at) => `[masked ${at}, string]`));
    expect(redactor.text(JSON.stringify(entries))).to.equal(JSON.stringify(shown(() => MASK)));
    expect(redactor.text(inspect(entries))).to.equal(inspect(shown(() => MASK)));
    const errors = [['password', ['must have 8 characters']]];
    expect(redactor.tree(errors).value).to.deep.equal(errors);
    expect(redactor.text(inspect(errors))).to.equal(inspect(errors));
  });

  it('masks a column of a printed table by its name', () => {
    const tables = [
      "┌─────────┬───────┬──────────┐\n│ (index) │ user  │ password │\n├─────────┼───────┼──────────┤\n│ 0       │ 'bob' │ 'hunter2' │\n│ 1       │ 'eve' │ null     │\n└─────────┴───────┴──────────┘",
      ' user | api_token \n------+-----------\n bob  | hunter2\n eve  | \n(2 rows)',
      'Users:\n\n| user | password |\n| :--- | -------- |\n| bob  | hunter2  |\n| eve  | [masked] |',
    ];
    for (const table of tables) expect(redactor.text(table)).to.equal(table.replace('hunter2', MASK));
    for (const text of [
      "type A = 'password' | 'token';\ntype B = 'one' | 'two';",
      'a | token\nno table',
      'a|b\nc|d',
    ])
      expect(redactor.text(text)).to.equal(text);
  });

  it('masks a block of YAML below a secret name, and what follows it not', () => {
    expect(redactor.text('token: |\n  hunter2\n  hunter3\nname: Bob\nsecret: >-\n    hunter4')).to.equal(
      `token: |\n  ${MASK}\nname: Bob\nsecret: >-\n    ${MASK}`,
    );
  });

  it('leaves types and functions of a statement readable', () => {
    expect(redactor.text("select token::text from a where token::text = 'hunter2'")).to.equal(
      `select token::text from a where token::text = '${MASK}'`,
    );
    expect(redactor.text("token = any('{hunter2,hunter3}')")).to.equal(`token = any('${MASK}')`);
    expect(redactor.text("token not in ('a', E'hunter2') and b in ('c')")).to.equal(
      `token not in ('${MASK}', E'${MASK}') and b in ('c')`,
    );
  });

  it('masks the part of a link also where it is a parameter of its route', () => {
    const code = '4f7Kq2mZ8wLx3nRt';
    const shown = redactor.tree({ url: `/verify-email/${code}?a=1`, params: [{ name: 'id', value: code }] });
    expect(shown.value).to.deep.equal({
      url: `/verify-email/${FIRST}?a=1`,
      params: [{ name: 'id', value: FIRST }],
    });
  });

  it('names arguments of Redis after the field, the setting or the path that they are for', () => {
    const secrets = [
      ['XADD', 's', 'MAXLEN', '10', '*', 'user', 'bob', 'password', 'hunter2'],
      ['SENTINEL', 'SET', 'm', 'auth-pass', 'hunter2'],
      ['JSON.SET', 'u:1', '$.password', '"hunter2"'],
    ];
    for (const [command = '', ...args] of secrets) {
      const shown = textOf(argumentsOf(command, args));
      expect(shown, command).to.not.contain('hunter2');
      if (command === 'XADD') expect(shown).to.contain('bob');
    }
  });

  it('masks the hash of a user, and not that of a file', () => {
    const hash = '225e31fe591de89151248df70654aa0e';
    expect(redactor.tree({ id: 1, login: 'nora', hash }).value).to.deep.equal({
      id: 1,
      login: 'nora',
      hash: FIRST,
    });
    expect(redactor.tree({ file: 'a.png', hash }).value).to.deep.equal({ file: 'a.png', hash });
    const { word } = redactor.tree({ name: 'dubois', word: hash, pwdSalt: 'n4Cl' }).value;
    expect(word, 'a digest beside a salt').to.match(/^\[masked/);
    const words = { word: 'a text of more than thirty-two letters', salt: 'n4Cl' };
    expect(redactor.tree(words).value.word).to.equal(words.word);
  });

  it('masks the end of a given value that was cut off after three characters', () => {
    expect(redactor.tree({ token: 'planted-secret-1', short: 'pla…' }).value.short).to.equal(`${FIRST}…`);
  });

  it('comes to an end on requests that give many secrets and texts that look like all of them', () => {
    const long = 'ab'.repeat(95);
    const body = 'ab'.repeat(32_000);
    const given = [
      Array.from({ length: 100 }, (_, index) => `${long}${index}`),
      Array.from({ length: 100 }, (_, index) => `aba${String.fromCharCode(0x61 + index)}${long}`),
      [`${long}c`],
    ];
    for (const tokens of given) {
      const { value } = redactor.tree({
        tokens,
        bodies: Array.from({ length: 5 }, () => body),
        end: tokens[0],
      });
      expect(value.end).to.equal(FIRST);
    }
  });
});
