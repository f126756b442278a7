/** A certificate that nobody has signed but itself, for `localhost` and 127.0.0.1. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Makes `cert.pem` and `key.pem` in a folder; their paths. Needs openssl. */
export async function makeCertificate(folder: string): Promise<{ certificate: string; key: string }> {
  const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await promisify(execFile)('openssl', [
    ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', certificate],
  ]);
  return { certificate, key };
}
