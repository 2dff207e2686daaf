import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import { PNG } from '../../support/samples'
import { type Stage, startStage, type Tenant } from '../../support/stage'

const COPIES = ['files-service', 'files-service-2']

let stage: Stage
let tenant: Tenant
let path: string
beforeAll(async () => {
  stage = await startStage({ replicas: 2 })
  tenant = await stage.newTenant()
  path = `/leads/${(await tenant.createLead()).reference}/attachments`
})
afterAll(() => stage.stop())

const attach = () =>
  tenant.client.request<{ data: { url: string } }>('POST', path, {
    multipart: [
      { name: 'name', value: 'A file' },
      { name: 'file', value: PNG, fileName: 'a.png' },
    ],
  })

/** Uploads and downloads files with three clients until `stop` is called. */
const startLoad = () => {
  const statuses: number[] = []
  let going = true
  const client = async () => {
    while (going) {
      const attached = await attach()
      statuses.push(attached.status)
      if (attached.status === 200)
        statuses.push((await tenant.client.request('GET', attached.json.data.url)).status)
      await pause(20)
    }
  }
  const clients = Array.from({ length: 3 }, client)
  const stop = async () => {
    going = false
    await Promise.all(clients)
  }
  const moves = async (count: number) => {
    const until = statuses.length + count
    await eventually(() => expect(statuses.length).toBeGreaterThanOrEqual(until))
  }
  return { statuses, moves, stop }
}

test('while each copy is drained and restarted, every upload and download succeeds', async () => {
  const load = startLoad()
  await load.moves(30)
  for (const copy of COPIES) {
    await stage.system.drain(copy)
    await load.moves(30)
    await stage.system.restart(copy)
    await load.moves(30)
  }
  await load.stop()
  expect(new Set(load.statuses)).toEqual(new Set([200]))
})

test('if a copy is killed, only its requests in flight fail', async () => {
  const load = startLoad()
  await load.moves(30)
  await stage.system.kill(COPIES[0]!)
  await load.moves(60)
  await load.stop()
  await stage.system.restart(COPIES[0]!)
  const failed = load.statuses.filter((status) => status !== 200)
  expect(failed.length).toBeLessThanOrEqual(3)
  expect(failed).toEqual(failed.map(() => 503))
})
