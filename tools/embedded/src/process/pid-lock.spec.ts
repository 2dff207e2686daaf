import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild } from './child'
import { startOf } from './identity'
import { takePidLock } from './pid-lock'

let path: string
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'pid-lock-')), 'stack.lock')
})
afterEach(() => rmSync(join(path, '..'), { recursive: true }))

test('one has it at a time', async () => {
  const taken = await Promise.all([takePidLock(path), takePidLock(path), takePidLock(path)])
  const locks = taken.filter((lock) => 'release' in lock)
  expect(locks).toHaveLength(1)
  expect(taken.filter((lock) => 'heldBy' in lock)).toEqual([{ heldBy: process.pid }, { heldBy: process.pid }])
  await locks[0]!.release()
  expect(readdirSync(join(path, '..'))).toEqual([])
})

test('one whose holder is gone, or whose number is another process by now, counts for nothing', async () => {
  const child = await startChild({
    name: 'c',
    command: process.execPath,
    args: ['-e', 'setInterval(() => {}, 1e6)'],
  })
  const start = await startOf(child.pid)
  try {
    writeFileSync(path, JSON.stringify({ pid: child.pid, start }))
    expect(await takePidLock(path)).toEqual({ heldBy: child.pid })
    writeFileSync(path, JSON.stringify({ pid: child.pid, start: 'another time' }))
    expect(await takePidLock(path)).toHaveProperty('release')
  } finally {
    await child.stop()
  }
  writeFileSync(path, JSON.stringify({ pid: child.pid, start }))
  expect(await takePidLock(path)).toHaveProperty('release')
})
