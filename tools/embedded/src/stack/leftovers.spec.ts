import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild } from '../process/child'
import { readStartTime } from '../process/identity'
import { recordProcesses, stopLeftovers } from './leftovers'

let path: string
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'leftovers-')), 'processes.json')
})
afterEach(() => rmSync(join(path, '..'), { recursive: true }))

const sleeper = () =>
  startChild({ name: 'gateway', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] })

test('stops a recorded process that still runs', async () => {
  const child = await sleeper()
  await recordProcesses(path, new Map([['gateway', child.pid]]))
  expect(await stopLeftovers(path, () => {})).toEqual(['gateway'])
  expect(await readStartTime(child.pid)).toBeUndefined()
  expect(await stopLeftovers(path, () => {})).toEqual([])
})

test('does not stop another process with a recorded pid', async () => {
  const child = await sleeper()
  try {
    await recordProcesses(path, new Map([['gateway', child.pid]]))
    const [recorded] = JSON.parse(readFileSync(path, 'utf8')) as { start: string }[]
    writeFileSync(path, JSON.stringify([{ ...recorded, start: `${recorded?.start}0` }]))
    expect(await stopLeftovers(path, () => {})).toEqual([])
    expect(child.hasExited()).toBe(false)
  } finally {
    await child.stop()
  }
})

test('stops nothing if a power loss emptied the record', async () => {
  writeFileSync(path, '')
  expect(await stopLeftovers(path, () => {})).toEqual([])
})

test('stops nothing if there is no record', async () => {
  expect(await stopLeftovers(path, () => {})).toEqual([])
})
