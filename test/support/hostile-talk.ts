/** Sends one hostile case on a connection of its own, and reads the statuses of all that comes back until the connection ends. */
import type { Socket } from 'node:net';
import type { HostileCase } from './hostile-cases.ts';
import { WITHIN_MS } from './waiting.ts';

/** What follows the last expected response within this time is still seen; it decides nothing where nothing follows. */
const LISTEN_ON_MS = 100;
const STATUS = /(?:^|\n|>)HTTP\/1\.1 (\d{3}) /g;

export interface Talk {
  statuses: readonly number[];
  timedOut: boolean;
}

export function talk(open: () => Socket, { bytes, statuses, endsEarly }: HostileCase): Promise<Talk> {
  return new Promise((resolve) => {
    const socket = open();
    let text = '';
    let listening = false;
    let timedOut = false;
    const seen = (): number[] => Array.from(text.matchAll(STATUS), ([, status]) => Number(status));
    const timer = setTimeout(() => {
      timedOut = true;
      socket.destroy();
    }, WITHIN_MS);
    // Responses that are not made at once are lost on a connection whose client has ended its side.
    const endOnce = (): void => {
      if (listening || seen().length < statuses.length) return;
      listening = true;
      setTimeout(() => socket.end(), LISTEN_ON_MS);
    };
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      text += chunk;
      endOnce();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve({ statuses: seen(), timedOut });
    });
    socket.once('authorized' in socket ? 'secureConnect' : 'connect', () => {
      socket.write(bytes, 'latin1');
      if (endsEarly === true) socket.end();
      else endOnce();
    });
  });
}
