import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startChild } from '../process/child'
import { startOf } from '../process/identity'
import { recordProcesses, stopLeftovers } from './leftovers'

let path: string
beforeEach(() => {
  path = join(mkdtempSync(join(tmpdir(), 'leftovers-')), 'processes.json')
})
afterEach(() => rmSync(join(path, '..'), { recursive: true }))

const sleeper = () =>
  startChild({ name: 'gateway', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] })

test('stops what was recorded and still runs', async () => {
  const child = await sleeper()
  await recordProcesses(path, new Map([['gateway', child.pid]]))
  expect(await stopLeftovers(path, () => {})).toEqual(['gateway'])
  expect(await startOf(child.pid)).toBeUndefined()
  expect(await stopLeftovers(path, () => {})).toEqual([])
})

test('leaves a process alone that has the number of one that was recorded', async () => {
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

test('a record that a power loss emptied is nothing to stop', async () => {
  writeFileSync(path, '')
  expect(await stopLeftovers(path, () => {})).toEqual([])
})

test('nothing recorded is nothing to stop', async () => {
  expect(await stopLeftovers(path, () => {})).toEqual([])
})
