/** One POST to a collector, by node:http: `fetch` would add 8 MB to the thread. Redirects are not followed. */
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from 'node:http';
import { Agent as HttpsAgent, request as requestHttps } from 'node:https';
import { gzip } from 'node:zlib';
import { promisify } from 'node:util';

export interface Reply {
  status: number;
  /** As sent; null if there is none. */
  retryAfter: string | null;
  body: Buffer;
}

export interface Post {
  /** Rejects if the collector is out of reach or does not reply within the timeout. */
  send(url: string, body: Uint8Array, signal: AbortSignal): Promise<Reply>;
  close(): void;
}

export interface PostOptions {
  headers: Readonly<Record<string, string>>;
  contentType: string;
  isCompressed: boolean;
  timeoutMs: number;
}

/** A reply says how many records were refused and why; more of it is not read. */
const MOST_REPLY_BYTES = 64 * 1024;

const compress = promisify(gzip);

async function bodyOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > MOST_REPLY_BYTES) break;
  }
  return Buffer.concat(chunks);
}

export function createPost({ headers, contentType, isCompressed, timeoutMs }: PostOptions): Post {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) };

  function ask(url: string, body: Uint8Array, signal: AbortSignal): Promise<IncomingMessage> {
    const isSecure = url.startsWith('https:');
    const options = {
      method: 'POST',
      agent: isSecure ? agents.https : agents.http,
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      headers: {
        ...headers,
        'content-type': contentType,
        'content-length': body.length,
        ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
      },
    };
    return new Promise((resolve, reject) => {
      (isSecure ? requestHttps : requestHttp)(url, options, resolve).on('error', reject).end(body);
    });
  }

  return {
    async send(url, body, signal) {
      const response = await ask(url, isCompressed ? await compress(body) : body, signal);
      return {
        status: response.statusCode ?? 0,
        retryAfter: response.headers['retry-after'] ?? null,
        body: await bodyOf(response),
      };
    },
    close() {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}
