/** Settings of the export to OpenTelemetry. */
import { expect } from 'chai';
import { readConfig } from '../../app/config.ts';
import { headerSecrets, otlpTarget, resourceAttributes } from '../../app/config/otlp.ts';
import { readOptions } from '../../app/config/settings.ts';

describe('settings of the export to OpenTelemetry', () => {
  it('are off by default, and then not checked', () => {
    expect(otlpTarget(readOptions({}))).to.equal(null);
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317', OTEL_EXPORTER_OTLP_HEADERS: '%' }; // prettier-ignore
    expect(() => readConfig(env)).to.not.throw();
  });

  it('have defaults', () => {
    expect(otlpTarget(readOptions({ otlp: true }))).to.deep.equal({
      endpoint: 'http://localhost:4318',
      headers: {},
      isCompressed: true,
    });
  });

  it('keep the path of the endpoint', () => {
    const target = otlpTarget(readOptions({ otlp: true, otlpEndpoint: 'https://otlp.example.com/a/' }));
    expect(target?.endpoint).to.equal('https://otlp.example.com/a');
  });

  it('read headers as OpenTelemetry writes them', () => {
    const otlpHeaders = 'authorization=Bearer%20abc=, x-tenant = shop ,';
    expect(otlpTarget(readOptions({ otlp: true, otlpHeaders }))?.headers).to.deep.equal({
      authorization: 'Bearer abc=',
      'x-tenant': 'shop',
    });
  });

  for (const [name, env] of Object.entries({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'me:key-0123456789@localhost:4318',
    OTEL_EXPORTER_OTLP_COMPRESSION: 'brotli',
    OTEL_EXPORTER_OTLP_HEADERS: 'key-0123456789',
    PROFILER_OTLP: 'http://localhost:4318',
  }))
    it(`end the start where ${name} can’t work, without repeating a secret`, () => {
      const start = (): unknown => readConfig({ PROFILER_OTLP: '1', [name]: env });
      expect(start).to.throw(new RegExp(`^${name} `));
      expect(start).to.not.throw(/0123456789/);
    });

  it('reject a header that could not be sent', () => {
    expect(() => otlpTarget(readOptions({ otlp: true, otlpHeaders: 'a=%0D%0Ab: c' }))).to.throw(
      /^OTEL_EXPORTER_OTLP_HEADERS /,
    );
  });

  it('mask keys among the headers, not words', () => {
    const OTEL_EXPORTER_OTLP_HEADERS = 'authorization=Bearer%20abcdef0123,x-tenant=production';
    expect(headerSecrets(OTEL_EXPORTER_OTLP_HEADERS)).to.deep.equal({ authorization: 'abcdef0123' });
    const { secrets, shown } = readConfig({ OTEL_EXPORTER_OTLP_HEADERS });
    expect(Object.values(secrets)).to.include('abcdef0123');
    expect(shown.OTEL_EXPORTER_OTLP_HEADERS).to.equal('set');
  });

  it('name the service, and ignore attributes that are malformed', () => {
    const read = (serviceName: string | null, text: string | null): string | undefined =>
      resourceAttributes({ serviceName, resourceAttributes: text })['service.name'];
    expect(read(null, null)).to.equal('unknown_service:node');
    expect(read(null, 'service.name=a%2Cb,team=x')).to.equal('a,b');
    expect(read('shop', 'service.name=other')).to.equal('shop');
    expect(resourceAttributes({ serviceName: 'shop', resourceAttributes: 'team' })).to.deep.equal({
      'service.name': 'shop',
    });
  });
});
