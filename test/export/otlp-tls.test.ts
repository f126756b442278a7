/** A collector that speaks TLS with a certificate of an own authority, as the service is told of it: NODE_EXTRA_CA_CERTS. */
import { expect } from 'chai';
import { readFileSync, rmSync } from 'node:fs';
import type { Health } from '../../app/profiler/health.ts';
import { makeCertificate } from '../support/certificate.ts';
import { attributeOf, withCollector } from '../support/otlp-collector.ts';
import { findProgram, skipOrFail } from '../support/parts.ts';
import { environmentOf, freshVarDir, withPostgres } from '../support/postgres.ts';
import { ask, type ListeningProcess, startService, tokenOf } from '../support/service-process.ts';
import { until } from '../support/waiting.ts';
import { freshFolder } from '../support/fresh-folder.ts';

describe('the export to a collector behind TLS', () => {
  let folder: string;
  let made: { certificate: string; key: string };
  let varDir: string;
  let service: ListeningProcess;

  before(async function () {
    if (findProgram(['openssl']) === null) skipOrFail(this, 'openssl');
    folder = freshFolder();
    made = await makeCertificate(folder);
  });
  const collector = withCollector(() => ({
    key: readFileSync(made.key),
    cert: readFileSync(made.certificate),
  }));
  const server = withPostgres();
  beforeEach(() => {
    varDir = freshVarDir();
  });
  afterEach(async () => {
    await service.ended('SIGTERM');
    rmSync(varDir, { recursive: true, force: true });
  });

  async function start(more: Record<string, string> = {}): Promise<void> {
    service = await startService({
      ...environmentOf(server().connection),
      VAR_DIR: varDir,
      PROFILER_OTLP: '1',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin(),
      ...more,
    });
  }

  async function exported(): Promise<NonNullable<Health['exported']>> {
    const { body } = await ask(`${service.origin}/_profiler/health.json`);
    const health = JSON.parse(body) as Health;
    if (health.exported === null) throw new Error('It exports nothing.');
    return health.exported;
  }

  it('sends to one whose authority it was given', async () => {
    await start({ NODE_EXTRA_CA_CERTS: made.certificate });
    const token = tokenOf(await ask(`${service.origin}/no-such-page`));
    await until(async () => (await exported()).sent >= 1, 'the profile is sent');
    expect(collector.spans().map((span) => attributeOf(span, 'hindsight.token'))).to.include(token);
  });

  it('sends nothing to one whose authority it does not know, and says why', async () => {
    await start();
    await ask(`${service.origin}/no-such-page`);
    await until(() => service.said().includes("Profiles can't be exported to 127.0.0.1:"), 'it is said');
    expect(service.said()).to.match(/at the moment \(self[- ]signed certificate/);
    expect(await exported()).to.include({ sent: 0 });
    expect(collector.received).to.deep.equal([]);
  });
});
