/**
 * A real nginx that ends TLS before the service and sets the header set of the Kubernetes ingress, as in production.
 * One process, a certificate made for the run, everything in a temporary folder, loopback only.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from './certificate.ts';
import { findProgram, skipOrFail } from './parts.ts';
import { accepts, freePort } from './server-process.ts';
import { until } from './waiting.ts';

export interface TlsProxy {
  /** `https://127.0.0.1:<port>`. */
  origin: string;
  port: number;
  close(): Promise<void>;
}

/** Event streams must pass unbuffered, bodies of any size must reach the service, and upgrades go through. */
function configuration(folder: string, port: number, upstreamPort: number): string {
  return `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log ${folder}/error.log warn;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  map $http_x_request_id $kept_request_id { default $http_x_request_id; "" $request_id; }
  map $http_upgrade $connection_upgrade { default upgrade; "" ""; }
  server {
    listen 127.0.0.1:${port} ssl;
    ssl_certificate ${folder}/cert.pem;
    ssl_certificate_key ${folder}/key.pem;
    client_max_body_size 0;
    location / {
      proxy_pass http://127.0.0.1:${upstreamPort};
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header X-Request-ID $kept_request_id;
      proxy_set_header X-Real-IP $remote_addr;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Host $http_host;
      proxy_set_header X-Forwarded-Port $server_port;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header X-Forwarded-Scheme $scheme;
      proxy_set_header X-Scheme $scheme;
    }
  }
}
`;
}

/** Starts a proxy in front of `upstreamPort` on this machine. `context`: the test to skip without nginx; null outside of tests. */
export async function startTlsProxy(context: Mocha.Context | null, upstreamPort: number): Promise<TlsProxy> {
  const program = findProgram(['nginx']);
  if (program === null || findProgram(['openssl']) === null) {
    if (context === null) throw new Error('This needs nginx and openssl.');
    skipOrFail(context, 'nginx and openssl');
  }
  const folder = await mkdtemp(join(tmpdir(), 'hindsight-nginx-'));
  const port = await freePort();
  await makeCertificate(folder);
  await writeFile(join(folder, 'nginx.conf'), configuration(folder, port, upstreamPort));
  const nginx = spawn(program, ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(nginx, 'exit');
  let complaint = '';
  nginx.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()));
  await until(async () => nginx.exitCode !== null || (await accepts(port)), 'nginx accepts connections');
  if (nginx.exitCode !== null) throw new Error(`nginx did not start: ${complaint}`);
  return {
    origin: `https://127.0.0.1:${port}`,
    port,
    async close() {
      nginx.kill('SIGTERM');
      await exited;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
