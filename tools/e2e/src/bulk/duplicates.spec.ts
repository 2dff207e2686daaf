import { randomUUID } from 'node:crypto'
import { eventually } from '@leadwire/test-kit'
import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage({ env: { DUPLICATE_WINDOW: '90d' } })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const ALL = ['email', 'phone', 'name_postcode']

const mark = (of: string, json: object) =>
  tenant.client.request<{ data: object; errors: object }>('POST', `/manage/leads/${of}/duplicate-of`, {
    json,
  })

test('a second lead of a person is reported once, with its filter, and can be marked and unmarked', async () => {
  const { receiver } = await tenant.listen({
    events: ['lead.duplicate_suspected'],
    filter: { status: ['sold'] },
  })
  const { reference: first } = await tenant.createLead()
  const { reference: stranger } = await tenant.createLead({
    ...{ first_name: 'Grace', email: 'grace@example.com', phone: '020 7946 0999' },
  })
  await tenant.createLead()
  const { reference } = await tenant.createLead({ status: 'sold' })
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  const { type, data } = JSON.parse(receiver.requests[0]!.body.toString())
  const found = { reference: first, reasons: ALL }
  expect({ type, data }).toMatchObject({
    type: 'lead.duplicate_suspected',
    data: { reference, suspects: [{ reasons: ALL }, found] },
  })
  expect(await tenant.send('GET', `/manage/leads/${reference}/duplicates`)).toEqual(data.suspects)
  expect(await tenant.send('GET', `/manage/leads/${stranger}/duplicates`)).toEqual([])

  const marked = await mark(reference, { reference: first })
  expect(marked).toMatchObject({ status: 200, json: { data: { status: 'duplicate', duplicate_of: first } } })
  expect(marked.headers['etag']).toMatch(/^"2-/)
  const managed = await tenant.client.request<{ data: object }>('GET', `/manage/leads/${reference}`)
  expect([managed.json, managed.headers['etag']]).toEqual([marked.json, marked.headers['etag']])
  const { text } = await tenant.client.request('GET', '/manage/exports')
  const exported = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(exported.map(({ duplicate_of }) => duplicate_of)).toEqual([null, null, null, first])
  expect((await mark(reference, { reference: '' })).json.data).toMatchObject({
    status: 'sold',
    duplicate_of: null,
  })
  const { json: log } = await tenant.client.request<{ data: { type: string }[] }>('GET', '/manage/events')
  expect(log.data.filter((event) => event.type === 'lead.duplicate_suspected')).toHaveLength(2)
}, 60_000)

test('a reference that can not be the other lead’s is a 422 that names it', async () => {
  const { reference } = await tenant.createLead()
  const { reference: other } = await tenant.createLead()
  const foreign = await (await stage.newTenant()).createLead()
  await mark(other, { reference })
  for (const json of [
    ...[{}, { reference: 'x' }, { reference: 1 }, { reference: [reference] }],
    ...[reference, other, foreign.reference, randomUUID()].map((one) => ({ reference: one })),
  ]) {
    const { status, json: answer } = await mark(reference, json)
    expect({ json, status, errors: answer.errors }).toEqual({
      ...{ json, status: 422, errors: { reference: [expect.any(String)] } },
    })
  }
})

test('a lead that is not there is a 404, whatever the request says', async () => {
  expect((await mark(randomUUID(), { reference: 5 })).status).toBe(404)
})
