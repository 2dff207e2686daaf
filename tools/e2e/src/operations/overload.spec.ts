import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import { LEAD, type Lead, type Stage, startStage, type Tenant } from '../stage.fixture'

const ACCOUNTS = 8
/** Of each account: together they have some seven times the rows that may wait. */
const AT_ONCE = 100
/** Makes a lead that takes a hundred times as long as one without. */
const ITEM = {
  ...{ product_style_id: 1, name: 'Casement window', price: 48_213, format: 'range', status: 'active' },
  options: { width: 1200, height: 900, glass: 'double glazed' },
}
const MEMORY_MIB = 512

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.stop())

const largeLead = async (tenant: Tenant) => {
  const multipart = [{ name: 'file', value: '<svg xmlns="http://www.w3.org/2000/svg"/>', fileName: 'a.svg' }]
  const image = await tenant.send<{ id: number }>('POST', '/manage/images', { multipart })
  const product_style = { sku: 'CAS-1', name: 'Casement', product: { name: 'Window' } }
  const item = { ...ITEM, product_style, image_id: image.id }
  return { ...LEAD, quotes: [{ status: 'complete', items: Array.from({ length: 50 }, () => item) }] }
}

/** Each service in turn, again and again, is asked whether it lives. */
const watchHealth = (tenant: Tenant) => {
  const statuses: number[] = []
  let watching = true
  const watch = async () => {
    while (watching) {
      for (const { health } of stage.system.services)
        statuses.push((await tenant.client.request('GET', `${health}/healthz`)).status)
      await pause(100)
    }
  }
  const watched = watch()
  return async () => {
    watching = false
    await watched
    return statuses
  }
}

/** The most memory that was ever resident, in MiB; 0 where there is no /proc. */
const peakOf = async (name: string) => {
  const status = await readFile(`/proc/${stage.system.pid(name)}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) / 1024
}

test('far more than can be served: what is not served is a 503, what is served is stored, and health answers', async () => {
  const watcher = await stage.newTenant()
  const tenants = await Promise.all(Array.from({ length: ACCOUNTS }, () => stage.newTenant()))
  const stopWatching = watchHealth(watcher)
  const flooded = tenants.map(async (tenant) => {
    const json = await largeLead(tenant)
    const create = () => tenant.client.request<{ data: Lead }>('POST', '/manage/leads', { json })
    return { tenant, answers: await Promise.all(Array.from({ length: AT_ONCE }, create)) }
  })
  for (const { tenant, answers } of await Promise.all(flooded)) {
    const accepted = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    const others = refused.filter(({ status, headers }) => status !== 503 || !headers['retry-after'])
    expect(others.map(({ status, text }) => [status, text])).toEqual([])
    const list = await tenant.client.request('GET', '/leads')
    expect(list.json).toMatchObject({ total: accepted.length })
  }
  const statuses = await stopWatching()
  expect(statuses).toEqual(statuses.map(() => 200))
  for (const { name } of stage.system.services) {
    expect([name, (await peakOf(name)) < MEMORY_MIB]).toEqual([name, true])
  }
  await eventually(() => watcher.createLead())
})
