import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { eventually } from '@leadwire/test-kit'
import { Client as Database } from 'pg'
import { mailFolder } from '../../support/mail'
import { type Stage, startStage, type Tenant } from '../../support/stage'

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const readSettings = (name: string) => stage.system.services.find(({ service }) => service === name)!.env

const sql = async (text: string, values: unknown[] = []) => {
  const database = new Database({ connectionString: readSettings('webhook-service')['DATABASE_URL'] })
  await database.connect()
  try {
    return (await database.query<{ notified_at: unknown }>(text, values)).rows
  } finally {
    await database.end()
  }
}

const list = async () =>
  (await tenant.client.request<{ data: { event_id: string }[] }>('GET', '/manage/notifications')).json.data

/**
 * Restarts leads-service, which searches for contacts to notify when it starts. Waits until the gateway has
 * connected to it again.
 */
const runNextRound = async () => {
  const { name } = stage.system.services.find(({ service }) => service === 'leads-service')!
  await stage.system.restart(name)
  await eventually(async () => expect((await tenant.client.request('GET', '/readyz')).status).toBe(200))
}

test('the contact of an account is set, shown and cleared', async () => {
  const change = (contact_email: unknown) =>
    tenant.client.request('PATCH', '/manage/account', { json: { contact_email } })
  const contact = async () =>
    (await tenant.send<Record<string, unknown>>('GET', '/manage/account'))['contact_email']
  expect(await tenant.send('GET', '/manage/account')).toEqual({
    api_key: tenant.account.api_key,
    name: 'Spec',
    contact_email: null,
    appointment_due_minutes: 60,
    callback_due_minutes: 0,
    created_at: expect.any(String),
  })
  for (const cleared of [null, '']) {
    expect((await change('it@example.com')).status).toBe(200)
    expect(await contact()).toBe('it@example.com')
    expect((await change(cleared)).status).toBe(200)
    expect(await contact()).toBeNull()
  }
  const { status, text } = await change('nobody')
  expect([status, JSON.parse(text).errors]).toEqual([
    422,
    { contact_email: ['The contact email must be a valid email address.'] },
  ])
})

test('a contact that is set while an endpoint fails gets one e-mail about it', async () => {
  const { receiver, id } = await tenant.listen()
  receiver.answerWith({ status: 500 })
  await tenant.createLead()
  const failing = await eventually(async () => {
    const found = await sql(
      `UPDATE endpoint_failures SET since = since - interval '24 hours' WHERE endpoint_id = $1 RETURNING notified_at`,
      [id],
    )
    expect(found).toHaveLength(1)
    return found
  })
  expect(failing).toEqual([{ notified_at: null }])
  const untold = await stage.newTenant()
  await runNextRound()
  expect(await list()).toEqual([])
  await tenant.send('PATCH', '/manage/account', { json: { contact_email: 'it@example.com' } })
  await runNextRound()
  const [told] = await eventually(async () => {
    const found = await list()
    expect(found).toMatchObject([{ status: 'delivered' }])
    return found
  })
  expect(told).toMatchObject({
    subject: 'webhook_endpoint.failing',
    endpoint_id: id,
    user_email: 'it@example.com',
    lead_reference: null,
    user_id: null,
    date: null,
  })
  const file = join(mailFolder(stage.system), `${told!.event_id}.eml`)
  const message = await readFile(file, 'utf8')
  expect(message).toContain('To: it@example.com')
  expect(message).toContain(new URL(receiver.url).host)
  await runNextRound()
  expect(await list()).toHaveLength(1)
  expect((await untold.client.request<{ total: number }>('GET', '/manage/notifications')).json.total).toBe(0)
})
