/** Limits of the machine, as root sets them: a small disk, few descriptors; and processes that stand still. */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEBIBYTE = 1024 * 1024;

/** Runs `work` with a file system of so many MiB at `folder`; default: a fresh folder. */
export async function withSmallDisk<T>(
  { mebibytes, folder = mkdtempSync(join(tmpdir(), 'small-')) }: { mebibytes: number; folder?: string },
  work: (folder: string) => Promise<T>,
): Promise<T> {
  mkdirSync(folder, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=1777`, 'tmpfs', folder]);
  try {
    return await work(folder);
  } finally {
    execFileSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Takes all room that is left; returns the function that gives it back. */
export function fillDisk(folder: string): () => void {
  const path = join(folder, 'ballast');
  const file = openSync(path, 'w', 0o666);
  for (const size of [MEBIBYTE, 4096])
    try {
      for (;;) writeSync(file, Buffer.alloc(size));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  closeSync(file);
  return () => {
    rmSync(path);
  };
}

export function limitDescriptors(pid: number, count: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${count}`]);
}

export function limitFileSize(pid: number, bytes: number | 'unlimited'): void {
  execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function familyOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return [pid, ...children.split(' ').filter(Boolean).map(Number)];
}

/** Stops a process and its children; returns the function that lets them go on. */
export function freeze(pid: number): () => void {
  const stopped = familyOf(pid);
  for (const one of stopped) process.kill(one, 'SIGSTOP');
  return () => {
    for (const one of stopped) process.kill(one, 'SIGCONT');
  };
}
