import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import type { Answer } from '../../support/client'
import { LEAD, type Stage, startStage, type Tenant } from '../../support/stage'

/** ENOUGH clients keep all services busy. TOO_MANY is ten times as many. */
const ENOUGH = 24
const TOO_MANY = 240
const SECONDS = 2
/** A lead with fifty of these items takes a hundred times as long as a lead without quotes. */
const ITEM = {
  product_style_id: 1,
  name: 'Casement window',
  price: 48_213,
  format: 'range',
  status: 'active',
  options: { width: 1200, height: 900, glass: 'double glazed' },
}
const MEMORY_MIB = 512

let stage: Stage
let heavy: Tenant
let bystander: Tenant
beforeAll(async () => {
  stage = await startStage()
  heavy = await stage.newTenant()
  bystander = await stage.newTenant()
})
afterAll(() => stage.stop())

const largeLead = async (tenant: Tenant) => {
  const multipart = [{ name: 'file', value: '<svg xmlns="http://www.w3.org/2000/svg"/>', fileName: 'a.svg' }]
  const image = await tenant.send<{ id: number }>('POST', '/manage/images', { multipart })
  const product_style = { sku: 'CAS-1', name: 'Casement', product: { name: 'Window' } }
  const item = { ...ITEM, product_style, image_id: image.id }
  return { ...LEAD, quotes: [{ status: 'complete', items: Array.from({ length: 50 }, () => item) }] }
}

/** Repeats `once` until the returned function is called. */
const repeat = (once: () => Promise<unknown>) => {
  let going = true
  const ended = (async () => {
    while (going) await once()
  })()
  return async () => {
    going = false
    await ended
  }
}

/**
 * Checks the health of each service every 100 ms, and creates a lead of the account `bystander` every second.
 * Returns a function that ends these requests and returns their statuses.
 */
const watch = () => {
  const statuses: number[] = []
  const ask = async (method: string, path: string, json?: object) =>
    statuses.push((await bystander.client.request(method, path, { json })).status)
  const stops = [
    repeat(async () => {
      for (const { health } of stage.system.services) await ask('GET', `${health}/healthz`)
      await pause(100)
    }),
    repeat(async () => {
      await ask('POST', '/leads', LEAD)
      await pause(1000)
    }),
  ]
  return async () => {
    await Promise.all(stops.map((stop) => stop()))
    return statuses
  }
}

/** Returns the peak of the resident memory in MiB, or 0 without /proc. */
const readPeak = async (name: string) => {
  const status = await readFile(`/proc/${stage.system.pid(name)}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024
}

/** Runs clients that send their next request as soon as they get a response. Returns all responses. */
const load = async (clients: number, send: () => Promise<Answer>) => {
  const answers: Answer[] = []
  const stops = Array.from({ length: clients }, () => repeat(async () => answers.push(await send())))
  await pause(SECONDS * 1000)
  await Promise.all(stops.map((stop) => stop()))
  return answers
}

const SENDERS: Record<string, () => Promise<() => Promise<Answer>>> = {
  'leads of 50 items': async () => {
    const json = await largeLead(heavy)
    return () => heavy.client.request('POST', '/manage/leads', { json })
  },
  changes: async () => {
    const { reference } = await heavy.createLead()
    return () => heavy.client.request('PATCH', `/leads/${reference}`, { json: { value: Date.now() % 1e6 } })
  },
}

test.each(
  Object.keys(SENDERS),
)('ten times as many clients as the services can handle send %s: others are served, and memory stays bounded', async (what) => {
  const send = await SENDERS[what]!()
  await load(ENOUGH, send)
  const stop = watch()
  const flood = await load(TOO_MANY, send)
  const statuses = await stop()
  expect(statuses).toEqual(statuses.map(() => 200))
  const refused = flood.filter(({ status }) => status !== 200)
  const others = refused.filter(({ status, headers }) => status !== 503 || !headers['retry-after'])
  expect(others.map(({ status, text }) => [status, text])).toEqual([])
  // A request waits up to 3 s before it is refused, so a client that retries at once gets few refusals. If
  // the services refused at once, the number of refusals would exceed this limit.
  expect(refused.length).toBeLessThanOrEqual(2 * TOO_MANY)
  for (const { name } of stage.system.services) {
    expect([name, (await readPeak(name)) < MEMORY_MIB]).toEqual([name, true])
  }
  await eventually(() => bystander.createLead())
})
