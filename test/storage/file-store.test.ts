import { expect } from 'chai';
import { execFile, spawn } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { createFolderDisk, createMemoryDisk, type Disk } from '../../app/storage/files/disk.ts';
import { createFileStore, type FileStoreOptions } from '../../app/storage/files/file-store.ts';
import { chooseFolder, findProject, folderNameOf } from '../../app/storage/files/folder.ts';
import { createSpill } from '../../app/storage/files/spill.ts';
import type { Store } from '../../app/profiler/store/store.ts';
import { eventually, until } from '../support/waiting.ts';
import { describeStoreContract, itemOf, NO_EXCEPTIONS, NO_LIMITS, stored } from './store-contract.ts';
import { freshFolder } from '../support/fresh-folder.ts';

const run = promisify(execFile);
const YEAR_MS = 365 * 24 * 3_600_000;
const isRoot = process.getuid?.() === 0;

describe('store in files', () => {
  let folder: string;
  let said: string[];
  const opened: Store[] = [];

  beforeEach(() => {
    folder = freshFolder();
    said = [];
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close(100);
  });

  function open(changes: Partial<FileStoreOptions> = {}): Store {
    const store = createFileStore({
      disk: createFolderDisk(folder),
      project: '/project',
      script: '/project/app.js',
      guard: null,
      thread: 0,
      warn: (sentence) => said.push(sentence),
      ...changes,
    });
    opened.push(store);
    return store;
  }

  const listed = async (store: Store): Promise<string[]> =>
    (await store.find({ limit: 1000, offset: 0 })).rows.map(({ token }) => token);
  const files = (ending: string): string[] => readdirSync(folder).filter((name) => name.endsWith(ending));

  describe('keeps the contract', () => {
    describeStoreContract({
      open: () => Promise.resolve(open()),
      empty() {
        rmSync(folder, { recursive: true, force: true });
        return Promise.resolve();
      },
    });
  });

  it('looks only as far as a page needs, and gives way while it looks through all', async () => {
    const store = open({ disk: createMemoryDisk(), mostBytes: 1e9 });
    const many = Array.from({ length: 60_000 }, (_, at) => itemOf(at, { startedAt: 1000 + at }, '{}'));
    for (let at = 0; at < many.length; at += 1000) {
      store.add(many.slice(at, at + 1000));
      await setImmediate();
    }
    const page = { limit: 2, offset: 1 };
    expect(await store.find({ ...page, counted: false })).to.include({ total: 3, totalIsExact: false });
    expect(await store.find({ ...page, from: 60_996 })).to.include({ total: 4, totalIsExact: true });
    expect((await store.find(page)).total).to.equal(60_000);
    let isDone = false;
    let turns = 0;
    const all = store.find({ ...page, url: '/nowhere', not: [{ url: '/x' }] }).then(({ total }) => {
      isDone = true;
      return total;
    });
    await Promise.resolve();
    while (!isDone) {
      await setImmediate();
      turns++;
    }
    expect(await all).to.equal(0);
    expect(turns).to.be.greaterThan(1);
  });

  it('keeps its order while others record, without sorting all of it again', async () => {
    const store = open({ disk: createMemoryDisk(), mostBytes: 1e9 });
    let reads = 0;
    const counted = (item: ReturnType<typeof itemOf>) => {
      const { startedAt } = item.row;
      const get = () => {
        reads++;
        return startedAt;
      };
      return { ...item, row: Object.defineProperty({ ...item.row }, 'startedAt', { get, enumerable: true }) };
    };
    const many = Array.from({ length: 60_000 }, (_, at) => counted(itemOf(at, { startedAt: 10 * at }, '{}')));
    for (let at = 0; at < many.length; at += 1000) {
      store.add(many.slice(at, at + 1000));
      await setImmediate();
    }
    const newest = async (): Promise<number[]> =>
      (await store.find({ limit: 3, offset: 0, counted: false })).rows.map(({ startedAt }) => startedAt);
    expect(await newest()).to.deep.equal([599_990, 599_980, 599_970]);
    store.add([
      itemOf(70_000, { startedAt: 599_985 }, '{}'),
      itemOf(70_001, { startedAt: 600_001 }, '{}'),
      itemOf(70_002, { startedAt: 5 }, '{}'),
    ]);
    expect(await newest()).to.deep.equal([600_001, 599_990, 599_985]);
    expect((await store.find({ limit: 1, offset: 0 })).total).to.equal(60_003);
    reads = 0;
    for (let round = 0; round < 80; round++) {
      store.add([itemOf(80_000 + round, { startedAt: 700_000 + round }, '{}')]);
      expect((await newest())[0]).to.equal(700_000 + round);
    }
    expect(reads).to.be.within(1, many.length);
  });

  it('makes nothing before the first record', async () => {
    rmSync(folder, { recursive: true });
    const store = open();
    expect(await store.read('000001')).to.equal(null);
    expect(await listed(store)).to.deep.equal([]);
    expect(existsSync(folder)).to.equal(false);
  });

  it('keeps what it wrote for the next process, readable by its user only', async () => {
    await stored(open(), [itemOf(1), itemOf(2)]);
    for (const name of readdirSync(folder))
      expect(lstatSync(join(folder, name)).mode & 0o777).to.equal(0o600);
    expect(await listed(open())).to.deep.equal(['000002', '000001']);
  });

  it('loses at most the last moment when it is killed', async function () {
    const writer = spawn(
      process.execPath,
      ['--import', 'tsx', join(import.meta.dirname, '../support/store-writer.ts'), folder],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    let added = 0;
    writer.stdout.on('data', (chunk: Buffer) => {
      added = Number(chunk.toString().trim().split('\n').at(-1));
    });
    await until(() => added > 200, 'records are written');
    const beside = open();
    const before = added;
    await until(async () => (await listed(beside)).length >= Math.min(before, 1000), 'they are on the disk');
    writer.kill('SIGKILL');
    await once(writer, 'exit');
    const store = open();
    const tokens = await listed(store);
    expect(tokens.length).to.be.least(Math.min(before, 1000));
    for (const token of tokens.slice(0, 20)) expect((await store.read(token))?.text).to.contain(token);
  });

  it('writes what waits when the process ends', async () => {
    await run(process.execPath, [
      '--import',
      'tsx',
      join(import.meta.dirname, '../support/store-writer.ts'),
      folder,
      'end',
    ]);
    expect(await listed(open())).to.have.length(50);
  });

  it('writes each record at once where the process may be stopped', async () => {
    open({ isFrozenBetween: true }).add([itemOf(1)]);
    expect(readFileSync(join(folder, files('.texts')[0] ?? ''), 'utf8')).to.equal(itemOf(1).text);
    expect(await listed(open())).to.deep.equal(['000001']);
  });

  it('says that a request which was running belongs to a process that has ended', async () => {
    await stored(open(), [itemOf(1, { state: 'running' })]);
    const other = open();
    const states = async (): Promise<unknown[]> => [
      (await other.read('000001'))?.row.state,
      (await other.find({ limit: 1, offset: 0 })).rows[0]?.state,
    ];
    expect(await states()).to.deep.equal(['running', 'running']);
    const old = new Date(Date.now() - 20_000);
    for (const name of files('.rows')) utimesSync(join(folder, name), old, old);
    await until(async () => (await states())[0] === 'final', 'its process has ended');
    expect(await states()).to.deep.equal(['final', 'final']);
    expect((await other.find({ isLabelled: true, limit: 1, offset: 0 })).rows).to.have.length(1);
  });

  it('hides what a process with another password recorded', async () => {
    await stored(open({ guard: 'a' }), [itemOf(1)]);
    await stored(open(), [itemOf(2)]);
    expect(await listed(open({ guard: 'a' }))).to.deep.equal(['000002', '000001']);
    expect(await listed(open({ guard: 'b' }))).to.deep.equal(['000002']);
    expect(await listed(open())).to.deep.equal(['000002']);
    expect(await listed(open({ showsAll: true }))).to.deep.equal(['000002', '000001']);
  });

  describe('with damaged and foreign files', () => {
    it('skips an entry that was cut off', async () => {
      await stored(open(), [itemOf(1), itemOf(2)]);
      const [name = ''] = files('.rows');
      const rows = readFileSync(join(folder, name));
      writeFileSync(join(folder, name), rows.subarray(0, rows.length - 40));
      expect(await listed(open())).to.deep.equal(['000001']);
      expect(said).to.deep.equal([]);
    });

    it('skips what is damaged, with one sentence', async () => {
      await stored(open(), [itemOf(1), itemOf(2), itemOf(3)]);
      const [rows = ''] = files('.rows');
      const lines = readFileSync(join(folder, rows), 'utf8').split('\n');
      lines[2] = (lines[2] ?? '').replace('/items/', '/ITEMS/');
      writeFileSync(join(folder, rows), lines.join('\n'));
      const [texts = ''] = files('.texts');
      const bytes = readFileSync(join(folder, texts));
      bytes[3] = 0;
      writeFileSync(join(folder, texts), bytes);
      const store = open();
      expect(await listed(store)).to.deep.equal(['000003', '000001']);
      expect(await store.read('000001')).to.equal(null);
      expect((await store.read('000003'))?.text).to.equal(itemOf(3).text);
      expect(said).to.have.length(1);
    });

    it('reads records that are older than a column', async () => {
      await stored(open(), [itemOf(1)]);
      const [name = ''] = files('.rows');
      const [header = '', entry = ''] = readFileSync(join(folder, name), 'utf8').split('\n');
      const json = header.slice(9).replace(',"bytes"]', ']');
      const older = `${crc32(json).toString(16).padStart(8, '0')} ${json}`;
      writeFileSync(join(folder, name), `${older}\n${entry}\n`);
      const { rows } = await open().find({ limit: 1, offset: 0 });
      expect(rows[0]).to.include({ token: '000001', bytes: null });
    });

    it('leaves other files alone, and skips segments of another format', async () => {
      await stored(open(), [itemOf(1)]);
      writeFileSync(join(folder, 'notes.txt'), 'mine');
      writeFileSync(join(folder, 'full-0mwz153np-17459288be6a.rows'), 'another format\n');
      mkdirSync(join(folder, 'full-0mwz153np-17459288be6b.rows'));
      const store = open();
      expect(await listed(store)).to.deep.equal(['000001']);
      await store.purge({ ...NO_LIMITS, count: 0 });
      expect(readdirSync(folder)).to.include.members(['notes.txt', 'full-0mwz153np-17459288be6a.rows']);
      expect(said).to.have.length(1);
    });

    it('follows no link that lies among its files', async () => {
      await stored(open(), [itemOf(1)]);
      const [name = ''] = files('.rows');
      symlinkSync(join(folder, name), join(folder, 'full-0mwz153np-17459288be6a.rows'));
      const store = open();
      expect(await listed(store)).to.deep.equal(['000001']);
      const target = join(folder, 'target');
      writeFileSync(target, 'untouched');
      symlinkSync(target, join(folder, 'set-paused'));
      await store.setting('paused', 'x').catch(() => undefined);
      expect(readFileSync(target, 'utf8')).to.equal('untouched');
    });
  });

  describe('when the disk fails', () => {
    it('goes on in a new folder when its own was deleted', async () => {
      const store = open();
      await stored(store, [itemOf(1)]);
      rmSync(folder, { recursive: true });
      await stored(store, [itemOf(2)]);
      expect(files('.rows')).to.have.length(1);
      for (const one of [open(), store]) expect(await listed(one)).to.deep.equal(['000002']);
      expect(await store.read('000001')).to.equal(null);
    });

    it('forgets what another process deleted', async () => {
      const store = open();
      await stored(store, [itemOf(1)]);
      await store.close();
      const [own, other] = [open(), open()];
      await stored(own, [itemOf(2)]);
      expect(await listed(own)).to.deep.equal(['000002', '000001']);
      await other.purge({ ...NO_LIMITS, count: 0, exceptions: NO_EXCEPTIONS });
      await until(async () => (await listed(own)).length === 1, 'one is gone');
      expect(await listed(own)).to.deep.equal(['000002']);
    });

    it('keeps the newest in memory while a write fails, says so once, and writes them later', async () => {
      const disk = createFolderDisk(folder);
      let isFull = true;
      const failing: Disk = {
        ...disk,
        create: (name) => (isFull ? Promise.reject(new Error('no space left')) : disk.create(name)),
      };
      const store = open({ disk: failing });
      const done = stored(store, [itemOf(1), itemOf(2)]);
      await until(() => store.state.failing, 'it fails');
      expect((await store.read('000002'))?.text).to.equal(itemOf(2).text);
      const text = 'x'.repeat(8 * 1024 * 1024);
      const dropped: string[] = [];
      for (let number = 10; number < 16; number++)
        store.add([
          { ...itemOf(number, {}, text), settled: (reason) => reason !== null && dropped.push(reason) },
        ]);
      expect(await done).to.deep.equal(['disk full or gone', 'disk full or gone']);
      expect(dropped).to.have.length.above(0);
      expect(store.state.pendingBytes).to.be.below(33 * 1024 * 1024);
      await until(() => store.state.failed > 1, 'it tries again');
      isFull = false;
      await until(() => store.state.pending === 0, 'all is written');
      expect(store.state.failing).to.equal(false);
      expect(await listed(open())).to.include('00000f');
      expect(said).to.have.length(2);
    });

    it('survives a full file system', async function () {
      if (!isRoot) this.skip();
      try {
        await run('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', folder]);
      } catch {
        this.skip();
      }
      try {
        const store = open();
        for (let number = 1; number < 100; number++) store.add([itemOf(number, {}, 'x'.repeat(50_000))]);
        await until(() => store.state.failing, 'the file system is full');
        expect((await store.read('000063'))?.text).to.contain('xxx');
        await store.close(100);
        await listed(open());
      } finally {
        await run('umount', ['-l', folder]);
      }
    });

    it('refuses a folder of another user, one that others can write, a link, and one that holds other files', () => {
      const choose = (path: string): string | null => chooseFolder(path, '/project', {}).problem;
      expect(choose(folder)).to.equal(null);
      expect(choose(join(folder, 'new'))).to.equal(null);
      chmodSync(folder, 0o777);
      expect(choose(folder)).to.contain('can be written by other users');
      chmodSync(folder, 0o755);
      expect(choose(folder)).to.equal(null);
      expect(lstatSync(folder).mode & 0o777).to.equal(0o700);
      writeFileSync(join(folder, 'notes.txt'), 'mine');
      expect(choose(folder)).to.contain('holds other files');
      // What another process that starts has written first.
      for (const name of ['draft-0123456789abcdef', 'set-tokens-2a4', 'server-3000']) {
        writeFileSync(join(folder, name), '');
        expect(choose(folder), name).to.equal(null);
        rmSync(join(folder, name));
      }
      rmSync(join(folder, 'notes.txt'));
      const link = join(folder, 'link');
      symlinkSync(folder, link);
      expect(choose(link)).to.contain('is a link');
      rmSync(link);
      if (!isRoot) return;
      chownSync(folder, 12345, 12345);
      expect(choose(folder)).to.contain('belongs to another user');
    });

    it('takes the usual folder of the user, else a temporary one, else none', () => {
      const name = folderNameOf('/project');
      const cache = { XDG_CACHE_HOME: folder };
      const ours = join(folder, 'express-hindsight', name);
      expect(chooseFolder(null, '/project', cache)).to.deep.equal({ folder: ours, problem: null });
      expect(chooseFolder('', '/project', cache)).to.deep.equal({ folder: null, problem: null });
      symlinkSync(tmpdir(), join(folder, 'express-hindsight'));
      expect(chooseFolder(null, '/project', cache).folder).to.equal(
        join(tmpdir(), 'express-hindsight', name),
      );
    });
  });

  it('finds the project of the main script', () => {
    const project = join(folder, 'shop');
    mkdirSync(join(project, 'src'), { recursive: true });
    writeFileSync(join(project, 'package.json'), '{}');
    writeFileSync(join(project, 'src', 'server.js'), '');
    expect(findProject({ pm_exec_path: join(project, 'src', 'server.js') })).to.equal(project);
  });

  describe('deleting', () => {
    /** A store whose segments are closed after a few records. */
    const small = (): Disk => ({ ...createFolderDisk(folder), segmentBytes: 5000 });

    async function fill(
      store: Store,
      count: number,
      changes: Parameters<typeof itemOf>[1] = {},
    ): Promise<void> {
      for (let number = 1; number <= count; number++)
        await stored(store, [itemOf(number, { durationMs: 1, ...changes }, 'x'.repeat(1000))]);
    }

    it('deletes whole segments beyond the limits, oldest first', async () => {
      const store = open({ disk: small() });
      await fill(store, 20);
      const before = files('.rows').length;
      const limits = { ...NO_LIMITS, exceptions: NO_EXCEPTIONS };
      const deleted = await store.purge({ ...limits, count: 8 });
      const left = await listed(store);
      expect(deleted).to.equal(20 - left.length);
      expect(left.length).to.be.within(8, 12);
      expect(left[0]).to.equal('000014');
      expect(files('.rows').length).to.be.below(before);
      expect(files('.texts').length).to.equal(files('.rows').length);
      expect(await listed(open())).to.deep.equal(left);
      await store.purge({ ...limits, bytes: 4000 });
      expect((await listed(store)).length).to.be.below(left.length);
    });

    it('keeps pins, errors and the slowest of each route, with what is beside them', async () => {
      const store = open({ disk: small() });
      await stored(store, [
        itemOf(1, { durationMs: 1 }, 'x'.repeat(1000)),
        itemOf(2, { durationMs: 900 }, 'y'.repeat(1000)),
        itemOf(3, { durationMs: 1, error: 'Error: no' }, 'z'.repeat(1000)),
        itemOf(4, { durationMs: 1, route: '/pinned' }, 'p'.repeat(1000)),
        itemOf(5, { kind: 'error_page', parent: '000003' }),
      ]);
      await store.keep('000004', true);
      await store.amend('000004', 'late', '"fact"');
      await store.label('000004', { findings: 1, mark: 'slow', marks: [] });
      for (let number = 6; number < 20; number++)
        await stored(store, [itemOf(number, { durationMs: 0.5, startedAt: Date.now() }, 'x'.repeat(1000))]);
      await store.purge({ ...NO_LIMITS, maxAgeMs: 3_600_000 });
      for (const reader of [store, open()]) {
        const kept = (
          await reader.find({
            kinds: ['request', 'error_page'],
            until: Date.now() - 3_600_000,
            limit: 9,
            offset: 0,
          })
        ).rows;
        expect(kept.map(({ token }) => token)).to.have.members(['000002', '000003', '000004', '000005']);
        expect((await reader.read('000003'))?.text).to.contain('zzz');
        expect(await reader.read('000004')).to.deep.include({ amendments: { late: 'fact' }, pinned: true });
        expect((await reader.read('000004'))?.row).to.include({ findings: 1, mark: 'slow' });
      }
    });

    it('limits pages of the profiler, and summaries, by their own numbers', async () => {
      const store = open({ disk: small() });
      for (let batch = 0; batch < 5; batch++)
        await stored(
          store,
          Array.from({ length: 50 }, (_, i) => itemOf(1000 + 50 * batch + i, { kind: 'profiler' })),
        );
      await fill(store, 8);
      await store.purge({ ...NO_LIMITS, profilerCount: 60 });
      expect((await store.find({ kinds: ['profiler'], limit: 1, offset: 0 })).total).to.be.within(60, 160);
      expect(await listed(store)).to.have.length(8);
    });

    it('leaves the segments of a process that runs', async () => {
      await stored(open(), [itemOf(1), itemOf(2)]);
      expect(await open().purge({ ...NO_LIMITS, count: 0, maxAgeMs: 0 })).to.equal(0);
      expect(await listed(open())).to.have.length(2);
    });

    it('happens in one process at a time, and a lock that was left is taken after a while', async () => {
      const store = open({ disk: small() });
      await fill(store, 20);
      const lock = join(folder, 'lock');
      writeFileSync(lock, '');
      expect(await store.purge({ ...NO_LIMITS, count: 1 })).to.equal(0);
      // The second lock was made before the clock jumped back.
      for (const [at, count] of [
        [Date.now() - 60_000, 10],
        [Date.now() + 60_000, 1],
      ] as const) {
        writeFileSync(lock, '');
        utimesSync(lock, new Date(at), new Date(at));
        expect(await store.purge({ ...NO_LIMITS, count })).to.be.above(0);
        expect(existsSync(lock)).to.equal(false);
      }
    });

    it('deletes parts, blocks of tokens and drafts that nothing needs any more', async () => {
      const store = open();
      await stored(store, [itemOf(0xabc123, { startedAt: Date.now() })]);
      for (const name of ['part-old', 'part-new', 'tokens-abc', 'tokens-def', 'paused'])
        await store.setting(name, 'x');
      writeFileSync(join(folder, 'draft-1'), '');
      const old = new Date(Date.now() - 3 * 3_600_000);
      for (const name of ['set-part-old', 'set-tokens-abc', 'set-tokens-def', 'set-paused', 'draft-1'])
        utimesSync(join(folder, name), old, old);
      await store.purge(NO_LIMITS);
      expect(readdirSync(folder).filter((name) => !name.startsWith('full-'))).to.have.members([
        'project',
        'set-part-new',
        'set-tokens-abc',
        'set-paused',
      ]);
    });

    it('reads, lists and deletes among 1,100 segments, more than a process may have open', async () => {
      const store = open();
      await stored(store, [itemOf(1)]);
      await store.close();
      const [rows = '', texts = ''] = [files('.rows')[0], files('.texts')[0]];
      const [rowBytes, textBytes] = [readFileSync(join(folder, rows)), readFileSync(join(folder, texts))];
      for (let number = 0; number < 1100; number++) {
        const name = join(folder, `full-0000${number.toString().padStart(5, '0')}-17459288be6a`);
        writeFileSync(`${name}.rows`, rowBytes);
        writeFileSync(`${name}.texts`, textBytes);
      }
      const reader = open();
      expect(await listed(reader)).to.deep.equal(['000001']);
      await reader.purge({ ...NO_LIMITS, count: 1, exceptions: NO_EXCEPTIONS });
      expect(files('.rows')).to.have.length(1);
      expect((await open().read('000001'))?.text).to.equal(itemOf(1).text);
    });
  });

  it('shows what was recorded after the clock jumped back', async () => {
    const store = open();
    await stored(store, [itemOf(1)]);
    writeFileSync(join(folder, 'cleared'), String(Date.now() + 3_600_000));
    await until(async () => (await listed(store)).length === 0, 'all is cleared');
    await stored(store, [itemOf(2)]);
    expect(await listed(store)).to.deep.equal(['000002']);
  });

  describe('with a clock that jumps', () => {
    const { now: clock } = Date;

    afterEach(() => {
      Date.now = clock;
    });

    it('shows other processes what was recorded before 1970', async () => {
      Date.now = () => clock() - 60 * YEAR_MS;
      await stored(open(), [itemOf(1)]);
      expect(await listed(open())).to.deep.equal(['000001']);
    });

    it('moves what a database could not take before 1970', async () => {
      Date.now = () => clock() - 60 * YEAR_MS;
      const disk = createFolderDisk(folder);
      const spill = createSpill({
        disk,
        project: '',
        script: '',
        guard: null,
        thread: 0,
        warn: () => undefined,
      });
      spill.add([itemOf(1)]);
      const moved: string[] = [];
      await spill.restore((records) => {
        moved.push(...records.map(({ row }) => row.token));
        return Promise.resolve();
      });
      expect(moved).to.deep.equal(['000001']);
      expect(files('.rows')).to.deep.equal([]);
    });

    it('deletes what was recorded first, also when the clock jumped back', async () => {
      const store = open({ disk: { ...createFolderDisk(folder), segmentBytes: 1000 } });
      for (let number = 1; number <= 6; number++) {
        if (number === 4) Date.now = () => clock() - 3_600_000;
        await stored(store, [itemOf(number, {}, 'x'.repeat(1000))]);
      }
      // A full segment has begun to delete already, and only one deletes at a time.
      await eventually(async () => {
        await store.purge({ ...NO_LIMITS, count: 3, exceptions: NO_EXCEPTIONS });
        expect(await listed(store)).to.deep.equal(['000006', '000005', '000004']);
      }, 'the oldest are deleted');
    });
  });

  it('appends to nothing that another process wrote', async () => {
    await stored(open(), [itemOf(1)]);
    const [name = ''] = files('.rows');
    const before = readFileSync(join(folder, name));
    await stored(open(), [itemOf(2)]);
    expect(readFileSync(join(folder, name)).subarray(0, before.length)).to.deep.equal(before);
    expect(files('.rows')).to.have.length(2);
    appendFileSync(join(folder, name), '');
  });
});

describe('store in memory', () => {
  let disk: Disk;
  const open = (): Store =>
    createFileStore({ disk, project: '/p', script: '', guard: null, thread: 0, warn: () => undefined });

  beforeEach(() => {
    disk = createMemoryDisk();
  });

  it('stays within its bytes', async () => {
    const store = open();
    for (let batch = 0; batch < 25; batch++)
      await stored(
        store,
        Array.from({ length: 20 }, (_, i) => itemOf(20 * batch + i, { durationMs: 1 }, 'x'.repeat(100_000))),
      );
    // A full segment has begun to delete already, and only one deletes at a time.
    await eventually(async () => {
      await store.purge(NO_LIMITS);
      let bytes = 0;
      for (const name of await disk.names()) bytes += (await disk.state(name))?.size ?? 0;
      expect(bytes).to.be.below(36 * 1024 * 1024);
    }, 'the bytes are within the limit');
    const { rows } = await store.find({ limit: 1000, offset: 0 });
    expect(rows[0]?.token).to.equal((499).toString(16).padStart(6, '0'));
    expect(rows.length).to.be.within(100, 400);
    await store.close();
  });
});
