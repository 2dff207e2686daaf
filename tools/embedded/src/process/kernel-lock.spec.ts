import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild } from './child'
import { takeLock, waitForLock } from './kernel-lock.cjs'

let path: string
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'kernel-lock-')), 'folder', 'stack.lock')
})
afterEach(() => rmSync(join(path, '../..'), { recursive: true }))

const script = `require(${JSON.stringify(require.resolve('./kernel-lock.cjs'))}).takeLock(process.argv[1]).fd
  console.log('locked'); setInterval(() => {}, 1e6)`

/** Starts another process, which holds the lock until it ends. */
const holder = async () => {
  let locked: () => void
  const isLocked = new Promise<void>((resolve) => {
    locked = resolve
  })
  const child = await startChild({
    name: 'holder',
    command: process.execPath,
    args: ['-e', script, path],
    onLine: () => locked(),
  })
  await isLocked
  return child
}

test('only one holder has the lock at a time', () => {
  const lock = takeLock(path)
  expect(takeLock(path)).toBeUndefined()
  lock!.release()
  takeLock(path)!.release()
  expect(existsSync(path)).toBe(true)
})

test('the holder is named, and kill -9 releases its lock', async () => {
  const child = await holder()
  const held: string[] = []
  const taking = waitForLock(path, (who) => {
    held.push(who)
    child.kill('SIGKILL')
  })
  ;(await taking).release()
  expect(held[0]).toBe(`pid ${child.pid} on ${hostname()}`)
})

test('a process that inherited the lock holds it too', async () => {
  const lock = takeLock(path)!
  const child = await startChild({ name: 'heir', command: 'sleep', args: ['1000'], lock })
  lock.release()
  expect(takeLock(path)).toBeUndefined()
  await child.stop()
  takeLock(path)!.release()
})

test('the content of the file does not matter', () => {
  takeLock(path)!.release()
  for (const content of ['', '{', JSON.stringify({ pid: process.pid })]) {
    writeFileSync(path, content)
    takeLock(path)!.release()
  }
})

test('a missing flock program is an error', () => {
  const env = { PATH: join(path, '..') }
  const { status, stderr } = spawnSync(process.execPath, ['-e', script, path], { env })
  expect(status).toBe(1)
  expect(String(stderr)).toContain(`${path} can't be locked: spawnSync flock ENOENT`)
})
