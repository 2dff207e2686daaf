import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '@leadwire/test-kit'
import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'

interface Notification {
  id: number
  event_id: string
  subject: string
  status: string
  attempts: { number: number; error: string | null }[]
}

let stage: SharedStage
let tenant: Tenant
let userId: number
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  const user = { email: 'sam@example.com', name: 'Sam Bay' }
  userId = (await tenant.send<{ id: number }>('POST', '/manage/users', { json: user })).id
}, 60_000)
afterAll(() => stage.stop())

const list = (query = '') =>
  tenant.client.request<{ data: Notification[]; total: number }>('GET', `/manage/notifications${query}`)

const messageOf = async ({ event_id }: Notification) => {
  const { env } = stage.system.services.find(({ service }) => service === 'webhook-service')!
  const folder = fileURLToPath(env['SMTP_URL']!)
  expect(await readdir(folder)).toContain(`${event_id}.eml`)
  return readFile(join(folder, `${event_id}.eml`), 'utf8')
}

test('an appointment, a callback and an update tell their user, and are shown with their attempts', async () => {
  const { reference } = await tenant.createLead()
  const entry = { user_id: userId, notify: true, date: '24/12/2026 14:30' }
  await tenant.send('POST', `/leads/${reference}/appointments`, { json: entry })
  await tenant.send('POST', `/leads/${reference}/callbacks`, { json: entry })
  await tenant.send('PATCH', `/leads/${reference}`, {
    json: { user_email: 'sam@example.com', notify: true, status: 'sold' },
  })
  const notifications = await eventually(async () => {
    const { json } = await list(`?lead_reference=${reference}`)
    expect(json.data.map(({ status }) => status)).toEqual(['delivered', 'delivered', 'delivered'])
    return json.data
  })
  expect(notifications.map(({ subject }) => subject).toSorted()).toEqual([
    'appointment',
    'assigned',
    'callback',
  ])
  for (const notification of notifications) {
    expect(notification).toMatchObject({
      ...{ lead_reference: reference, user_id: userId, user_email: 'sam@example.com' },
      ...{ attempt_count: 1, next_attempt_at: null },
      date: notification.subject === 'assigned' ? null : '2026-12-24T14:30:00.000000Z',
    })
    const one = await tenant.send<Notification>('GET', `/manage/notifications/${notification.id}`)
    expect(one.attempts).toMatchObject([{ number: 1, status: 250, error: null }])
    const message = await messageOf(notification)
    expect(message).toContain('To: Sam Bay <sam@example.com>')
    expect(message.includes('text/calendar')).toBe(notification.subject !== 'assigned')
  }
  expect(await messageOf(notifications.find(({ subject }) => subject === 'assigned')!)).toContain('sold')
})

test('another account sees none of them, and webhooks are not among them', async () => {
  const other = await stage.newTenant()
  const [mine] = (await list()).json.data
  expect((await other.client.request('GET', `/manage/notifications/${mine!.id}`)).status).toBe(404)
  const theirs = await other.client.request<{ total: number }>('GET', '/manage/notifications')
  expect(theirs.json.total).toBe(0)
  await tenant.listen()
  const { total } = (await list()).json
  const { reference } = await tenant.createLead()
  await eventually(async () => {
    const found = await tenant.client.request<{ total: number }>(
      'GET',
      `/manage/deliveries?lead_reference=${reference}`,
    )
    expect(found.json.total).toBe(1)
  })
  expect((await list()).json.total).toBe(total)
  expect((await list('?status=none')).status).toBe(422)
})

test('one that was told can be told again by hand', async () => {
  const [told] = (await list()).json.data
  await tenant.send('POST', `/manage/notifications/${told!.id}/retry`)
  await eventually(async () => {
    const { attempts } = await tenant.send<Notification>('GET', `/manage/notifications/${told!.id}`)
    expect(attempts).toMatchObject([{ number: 1 }, { number: 2, error: null }])
  })
})

test('without notify nobody is told', async () => {
  const { reference } = await tenant.createLead()
  const entry = { user_id: userId, date: '24/12/2026 14:30' }
  await tenant.send('POST', `/leads/${reference}/callbacks`, { json: { ...entry, notify: false } })
  // Events keep their order: when the next one is told, this one would have been.
  await tenant.send('POST', `/leads/${reference}/appointments`, { json: { ...entry, notify: true } })
  await eventually(async () => {
    const { json } = await list(`?lead_reference=${reference}`)
    expect(json.data.map(({ subject }) => subject)).toEqual(['appointment'])
  })
})
