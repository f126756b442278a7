import { expect } from 'chai';
import { ConfigError, hostEnvironment, isEnabled, readConfig, schemaOf } from '../app/config.ts';

describe('configuration', () => {
  it('has the defaults of the documentation, frozen', () => {
    const config = readConfig({});
    expect(config).to.include({
      env: 'dev',
      debug: true,
      host: '127.0.0.1',
      port: 3000,
      workers: 1,
      domain: 'localhost',
      schema: 'localhost',
      database: null,
    });
    expect(config.trustedProxies).to.deep.equal([
      '127.0.0.0/8',
      '10.0.0.0/8',
      '172.16.0.0/12',
      '192.168.0.0/16',
    ]);
    expect(config.trustedHosts).to.equal(null);
    expect(Object.isFrozen(config)).to.equal(true);
  });

  it('is production without debug where NODE_ENV says so and APP_ENV does not', () => {
    expect(readConfig({ NODE_ENV: 'production' })).to.include({ env: 'prod', debug: false });
    expect(readConfig({ NODE_ENV: 'production', APP_ENV: 'dev' })).to.include({ env: 'dev', debug: true });
    expect(readConfig({ APP_ENV: 'prod' }).debug).to.equal(false);
    expect(readConfig({ APP_DEBUG: '0' }).debug).to.equal(false);
    expect(readConfig({ APP_ENV: 'prod', APP_DEBUG: '1' }).debug).to.equal(true);
  });

  it('puts the toolbar into pages unless it is told not to', () => {
    expect(readConfig({}).profiler.toolbar).to.equal(true);
    expect(readConfig({ PROFILER_TOOLBAR: 'off' }).profiler.toolbar).to.equal(false);
    expect(readConfig({ PROFILER_TOOLBAR: '1' }).profiler.toolbar).to.equal(true);
  });

  it('names the schema after the domain', () => {
    expect(schemaOf('shop.example.com')).to.equal('shop_example_com');
    expect(schemaOf('9gag.example')).to.equal('_9gag_example');
    expect(schemaOf('pg-shop.example')).to.equal('_pg_shop_example');
    expect(schemaOf('x'.repeat(200))).to.have.length(63);
    expect(readConfig({ APP_DOMAIN: 'shop.example.com' }).schema).to.equal('shop_example_com');
  });

  it('takes a database address apart', () => {
    const { database } = readConfig({
      DATABASE_URL: 'postgres://bob:p%40ss%2Fword@db.example:6543/shop?sslmode=require',
    });
    expect(database).to.deep.equal({
      host: 'db.example',
      port: 6543,
      name: 'shop',
      user: 'bob',
      password: 'p@ss/word',
      ssl: 'unverified',
    });
    expect(
      readConfig({ DB_HOST: '/run/pg', DB_NAME: 'shop', DB_PASSWORD: 'long enough' }).database,
    ).to.deep.equal({
      host: '/run/pg',
      port: 5432,
      name: 'shop',
      user: 'postgres',
      password: 'long enough',
      ssl: 'off',
    });
  });

  it('takes the folder of a socket, and its port, from an address as libpq does', () => {
    for (const url of [
      'postgres:///shop?host=/run/pg&port=5433',
      'postgres://bob@/shop?host=/run/pg&port=5433',
      'postgresql://bob:secret-word@/shop?host=%2Frun%2Fpg&port=5433',
    ]) {
      const { database } = readConfig({ DATABASE_URL: url });
      expect(database, url).to.include({ host: '/run/pg', port: 5433, name: 'shop' });
      expect(database?.user, url).to.equal(url.includes('bob') ? 'bob' : 'postgres');
    }
    expect(readConfig({ DATABASE_URL: 'postgres://bob@db/shop' }).database?.port).to.equal(5432);
    expect(() => readConfig({ DATABASE_URL: 'postgres://bob@db/shop?port=none' })).to.throw(/port "none"/);
  });

  it('masks the password of an address and warns of short secrets', () => {
    const config = readConfig({ DATABASE_URL: 'postgres://bob:correct-horse@db/shop', APP_SECRET: 'short' });
    expect(config.secrets).to.deep.equal({ APP_SECRET: 'short', DB_PASSWORD: 'correct-horse' });
    expect(config.warnings).to.have.length(1);
    expect(config.warnings[0]).to.contain('APP_SECRET');
    expect(config.warnings[0]).to.not.contain('"short"');
  });

  it('warns of an address that others reach while neither names nor a password are set', () => {
    const warned = (env: Record<string, string>): readonly string[] => readConfig(env).warnings;
    expect(warned({ HOST: '0.0.0.0' })).to.have.length(1);
    expect(warned({ HOST: '0.0.0.0' })[0]).to.match(
      /APP_DOMAIN, TRUSTED_HOSTS and PROFILER_PASSWORD are unset/,
    );
    const safe = { APP_DOMAIN: 'shop.example', TRUSTED_HOSTS: 'shop.example', PROFILER_PASSWORD: 'tortoise-77', APP_ENV: 'prod', HOST: '127.0.0.1' }; // prettier-ignore
    for (const [name, value] of Object.entries(safe))
      expect(warned({ HOST: '::', [name]: value }), name).to.deep.equal([]);
  });

  it('shows of secrets only that they are set', () => {
    const secrets = {
      APP_SECRET: 'first-secret',
      API_KEY: 'second-secret',
      DB_PASSWORD: 'third-secret',
      PROFILER_PASSWORD: 'fourth-secret',
      DATABASE_URL: 'postgres://bob@db/shop',
    };
    const { shown } = readConfig({ ...secrets, PORT: '80', PROFILER_EXPLAIN_MS: '70' });
    for (const name of Object.keys(secrets)) expect(shown[name], name).to.equal('set');
    expect(JSON.stringify(shown)).to.not.contain('-secret').and.not.contain('postgres:');
    expect(shown).to.include({
      PORT: 80,
      PROFILER_EXPLAIN_MS: 70,
      DB_HOST: 'db',
      DYNO: null,
      APP_DEBUG: true,
    });
    expect(readConfig({}).shown).to.include({ APP_SECRET: null, DATABASE_URL: null, DB_HOST: null });
  });

  it('trusts no proxy where the list is empty', () => {
    expect(readConfig({ TRUSTED_PROXIES: '' }).trustedProxies).to.deep.equal([]);
    expect(readConfig({ TRUSTED_HOSTS: '' }).trustedHosts).to.equal(null);
  });

  const wrong: [string, Record<string, string>, RegExp][] = [
    ['a port that is none', { PORT: 'http' }, /^PORT is "http"; set a whole number from 0 to 65535\.$/],
    ['a port too high', { PORT: '65536' }, /^PORT /],
    [
      'workers that are no number',
      { WEB_CONCURRENCY: 'auto' },
      /^WEB_CONCURRENCY is "auto"; set a whole number from 1 to 64\.$/,
    ],
    ['no workers at all', { WEB_CONCURRENCY: '0' }, /^WEB_CONCURRENCY is "0"/],
    ['more workers than a machine has', { WEB_CONCURRENCY: '65' }, /^WEB_CONCURRENCY is "65"/],
    [
      'an unknown environment',
      { APP_ENV: 'production' },
      /^APP_ENV is "production"; set it to dev, test or prod\.$/,
    ],
    ['a debug flag that is none', { APP_DEBUG: 'maybe' }, /^APP_DEBUG /],
    ['a switch of the toolbar that is none', { PROFILER_TOOLBAR: 'bottom' }, /^PROFILER_TOOLBAR is "bottom"/],
    ['a domain that is none', { APP_DOMAIN: 'shop example' }, /^APP_DOMAIN /],
    ['a schema that is none', { DB_SCHEMA: 'drop table' }, /^DB_SCHEMA /],
    [
      'a proxy range that is none',
      { TRUSTED_PROXIES: '10.0.0.0/33' },
      /^TRUSTED_PROXIES holds "10.0.0.0\/33"/,
    ],
    ['a host that is none', { TRUSTED_HOSTS: 'http://x' }, /^TRUSTED_HOSTS /],
    [
      'two forms of an address',
      { DATABASE_URL: 'postgres://a/b', DB_HOST: 'x' },
      /^DATABASE_URL is set together with DB_HOST/,
    ],
    ['half an address', { DB_HOST: 'x' }, /^DB_NAME is missing/],
    ['another database', { DATABASE_URL: 'mysql://a:secret-word@b/c' }, /^DATABASE_URL begins with "mysql:"/],
    [
      'an address without database',
      { DATABASE_URL: 'postgres://a:secret-word@b' },
      /^DATABASE_URL names no database/,
    ],
    [
      'a broken escape',
      { DATABASE_URL: 'postgres://a:secret%zzword@b/c' },
      /^DATABASE_URL holds a percent sign/,
    ],
    [
      'a share above one',
      { PROFILER_SAMPLE_RATE: '1.5' },
      /^PROFILER_SAMPLE_RATE is "1.5"; set a number from 0 to 1/,
    ],
    ['a retention of nothing', { PROFILER_RETENTION_COUNT: '0' }, /^PROFILER_RETENTION_COUNT /],
    [
      'plans of statements that take less than nothing',
      { PROFILER_EXPLAIN_MS: '-1' },
      /^PROFILER_EXPLAIN_MS is "-1"; set a whole number from 0 to 3600000\.$/,
    ],
  ];
  for (const [what, env, message] of wrong) {
    it(`ends the start on ${what}, naming what to change and no secret`, () => {
      expect(() => readConfig(env)).to.throw(ConfigError, message);
      expect(() => readConfig(env)).to.not.throw(ConfigError, /secret/);
    });
  }

  it('refuses a database of a host that is none, unless the host is not recorded', () => {
    const env = { PROFILER_DATABASE_URL: 'nonsense' };
    expect(() => hostEnvironment({ enabled: true }, env)).to.throw(
      ConfigError,
      /^PROFILER_DATABASE_URL is not an address; set /,
    );
    expect(isEnabled(undefined, { ...env, NODE_ENV: 'production' })).to.equal(false);
  });

  it('keeps plans of statements from 100 ms on, or as asked, or none', () => {
    expect(readConfig({}).profiler.explainMs).to.equal(100);
    expect(readConfig({ PROFILER_EXPLAIN_MS: '0' }).profiler.explainMs).to.equal(0);
    expect(readConfig({ PROFILER_EXPLAIN_MS: '20' }).profiler.explainMs).to.equal(20);
  });

  it('takes an editor by its name or by a pattern, with folders that lie elsewhere', () => {
    expect(readConfig({}).profiler.editor).to.equal(null);
    expect(readConfig({ PROFILER_EDITOR: 'none', PROFILER_EDITOR_PATHS: '/a=/b' }).profiler.editor).to.equal(
      'none',
    );
    for (const name of ['vscode', 'cursor', 'webstorm', 'zed'])
      expect(readConfig({ PROFILER_EDITOR: name }).profiler.editor).to.match(/^[a-z]+:\/\/.*%f.*%l/);
    const pattern = 'myeditor://open?file=%f&line=%l';
    const { editor, editorPaths } = readConfig({
      PROFILER_EDITOR: pattern,
      PROFILER_EDITOR_PATHS: '/app=/home/me/shop, /lib = C:\\lib',
    }).profiler;
    expect(editor).to.equal(pattern);
    expect(editorPaths).to.deep.equal({ '/app': '/home/me/shop', '/lib': 'C:\\lib' });
  });

  for (const url of [
    'emacs',
    'javascript:alert(%f)',
    'JavaScript:%f',
    'data:text/html,%f',
    'vbscript:%f',
    'file://%f',
    'vscode://file/',
    'vscode://file/%f"onclick',
    'vscode://file/%f\u202e',
    'my editor://%f',
    `x://%f${'y'.repeat(500)}`,
  ]) {
    it(`refuses the editor ${url.slice(0, 40)}`, () => {
      expect(() => readConfig({ PROFILER_EDITOR: url })).to.throw(ConfigError, /^PROFILER_EDITOR is .*set/);
    });
  }

  it('takes the origins of front ends as browsers write them, each once', () => {
    expect(readConfig({}).profiler.toolbarOrigins).to.deep.equal([]);
    const text = 'http://localhost:5173, HTTPS://App.Example.com:443 http://[::1]:80/,http://localhost:5173';
    expect(() => readConfig({ PROFILER_TOOLBAR_ORIGINS: text })).to.throw(ConfigError);
    expect(
      readConfig({ PROFILER_TOOLBAR_ORIGINS: text.replace('80/', '80') }).profiler.toolbarOrigins,
    ).to.deep.equal(['http://localhost:5173', 'https://app.example.com', 'http://[::1]']);
  });

  for (const origins of [
    '*',
    'localhost:5173',
    'http://a/b',
    'http://a?b',
    'null',
    'http://u:p@a',
    'ftp://a',
    'http://',
  ]) {
    it(`refuses the front end ${origins}`, () => {
      expect(() => readConfig({ PROFILER_TOOLBAR_ORIGINS: origins })).to.throw(
        ConfigError,
        /^PROFILER_TOOLBAR_ORIGINS holds ".*list origins/,
      );
    });
  }

  for (const paths of ['/app', '/app=', 'app=/home', '/app=home', '/app=/home/../etc', '/app=javascript:x']) {
    it(`refuses the folders ${paths}`, () => {
      expect(() => readConfig({ PROFILER_EDITOR_PATHS: paths })).to.throw(
        ConfigError,
        /^PROFILER_EDITOR_PATHS holds .*list pairs/,
      );
    });
  }
});
