import { eventually } from '@leadwire/test-kit'
import { parse } from 'csv-parse/sync'
import { Client } from 'pg'
import { LEAD, type Lead, type Stage, startStage, type Tenant } from '../../support/stage'
import { checkoutWithField } from './checkout-with-field.fixture'

const FIELD = 'shoe_size'

let checkout: Awaited<ReturnType<typeof checkoutWithField>>
let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  checkout = await checkoutWithField(FIELD)
  stage = await startStage({ root: checkout.root })
  tenant = await stage.newTenant()
}, 120_000)
afterAll(async () => {
  await stage?.stop()
  await checkout?.remove()
})

const leads = async <Row extends object>(text: string, values: unknown[]): Promise<Row[]> => {
  const client = new Client({ connectionString: stage.system.databases.leads.url })
  await client.connect()
  const { rows } = await client.query<Row>(text, values)
  await client.end()
  return rows
}

test('a field that is added to the table of fields and in a migration appears wherever a lead does', async () => {
  const { receiver } = await tenant.listen({ events: ['lead.created', 'lead.updated'] })
  const { reference, ...created } = await tenant.createLead()
  expect(Object.keys(created)).toContain(FIELD)
  expect(created[FIELD]).toBeNull()
  await leads(`UPDATE leads SET ${FIELD} = '43', json_format = 0 WHERE reference = $1`, [reference])

  expect(await tenant.send('GET', `/leads/${reference}`)).toMatchObject({ [FIELD]: '43' })
  await tenant.send('PATCH', `/leads/${reference}`, { json: { value: 1 } })
  await eventually(() => expect(receiver.requests).toHaveLength(2))
  const bodies = receiver.requests.map(({ body }) => JSON.parse(body.toString()))
  expect(bodies.find(({ type }) => type === undefined).data).toMatchObject({ [FIELD]: null })
  expect(bodies.find(({ type }) => type === 'lead.updated').data).toMatchObject({ [FIELD]: '43' })

  const { json: document } = await tenant.client.request<{
    components: { schemas: Record<string, { properties: object }> }
  }>('GET', '/openapi.json')
  for (const schema of ['Lead', 'LeadListItem', 'LeadCreatedLead'])
    expect(document.components.schemas[schema]!.properties).toHaveProperty(FIELD)
  const csv = await tenant.client.request('GET', '/manage/exports?format=csv')
  expect(parse(csv.text, { columns: true })[0]).toMatchObject({ [FIELD]: '43' })

  await tenant.client.request('POST', `/manage/leads/${reference}/erase`)
  expect(await tenant.send('GET', `/leads/${reference}`)).toMatchObject({ [FIELD]: null })
  expect(await leads(`SELECT ${FIELD} FROM leads WHERE reference = $1`, [reference])).toEqual([
    { [FIELD]: null },
  ])
})

test('an upsert of another field keeps its value', async () => {
  const upsert = (json: object) => tenant.send<Lead>('PUT', '/manage/leads/external/own-1', { json })
  const { reference } = await upsert(LEAD)
  await leads(`UPDATE leads SET ${FIELD} = '43', json_format = 0 WHERE reference = $1`, [reference])
  expect(await upsert({ name: 'Porch' })).toMatchObject({ name: 'Porch', [FIELD]: '43' })
})
