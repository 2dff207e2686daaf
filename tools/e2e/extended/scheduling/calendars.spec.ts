import { createHash } from 'node:crypto'
import { eventually } from '@leadwire/test-kit'
import { Client as Database } from 'pg'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'
import { calendarFacts } from './calendar.fixture'

let stage: SharedStage
let tenant: Tenant
let userId: number
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
  userId = await newUser('sam@example.com')
})

const newUser = async (email: string) =>
  (await tenant.send('POST', '/manage/users', { json: { email, name: 'Sam Bay' } })).id

const newCalendar = async (id = userId) =>
  new URL((await tenant.send<{ url: string }>('POST', `/manage/users/${id}/calendar`)).url).pathname

const read = (path: string, headers = {}, method = 'GET') =>
  tenant.client.request(method, path, { token: '', headers })

const factsAt = async (path: string) => {
  const answer = await read(path)
  expect(answer.status).toBe(200)
  return calendarFacts(answer.text)
}

const query = async (text: string, values: unknown[]) => {
  const database = new Database({ connectionString: stage.system.databases.leads.url })
  await database.connect()
  const { rows } = await database.query(text, values).finally(() => database.end())
  return rows as object[]
}

const localDate = (daysFromNow: number) => {
  const [year, month, day] = new Date(Date.now() + daysFromNow * 86_400_000).toISOString().split(/[-T]/)
  return `${day}/${month}/${year} 14:30`
}

const schedule = async (what: string, date: string, { user_id = userId, name = 'Bay window' } = {}) => {
  const { reference } = await tenant.createLead({ name })
  const json = { user_id, notify: false, date }
  const { id } = await tenant.send('POST', `/leads/${reference}/${what}`, { json })
  return { reference, id, path: `/leads/${reference}/${what}/${id}` }
}

test('a calendar shows the entries of its user, and follows changes', async () => {
  const path = await newCalendar()
  expect(path).toMatch(/^\/calendars\/lw_cal_[\w-]{43}\.ics$/)
  expect(await factsAt(path)).toEqual([])
  const meeting = await schedule('appointments', '24/12/2199 14:30', { name: 'Bay; window, "groß" 🪟' })
  const call = await schedule('callbacks', localDate(-80))
  await schedule('appointments', localDate(-100))
  await schedule('appointments', localDate(3), { user_id: await newUser('kim@example.com') })
  const uid = `appointment-${meeting.id}@leadwire`
  const appointment = {
    uid,
    sequence: 0,
    start: '2199-12-24T14:30:00.000Z',
    minutes: 60,
    attendee: null,
    summary: 'Appointment: Bay; window, "groß" 🪟',
    method: null,
    status: null,
  }
  const callback = { uid: `callback-${call.id}@leadwire`, minutes: 15, summary: 'Callback: Bay window' }
  expect(await factsAt(path)).toMatchObject([appointment, callback])
  const { text, headers } = await read(path)
  expect(headers).toMatchObject({
    'content-type': 'text/calendar; charset=utf-8',
    'cache-control': 'private, no-cache',
    'x-content-type-options': 'nosniff',
  })
  expect(text.replaceAll('\r\n ', '')).toContain('Customer: Ada Lovelace\\nPhone: 020 7946 0123')

  await tenant.send('PATCH', meeting.path, { json: { date: '25/12/2199 14:30' } })
  await tenant.send('DELETE', call.path)
  const moved = { uid, sequence: 1, start: '2199-12-25T14:30:00.000Z' }
  expect(await factsAt(path)).toMatchObject([moved])
})

test('the address of a calendar expires with the token that created it', async () => {
  const expires_at = new Date(Date.now() + 86_400_000).toISOString()
  const { token } = await tenant.newToken({ scopes: ['manage'], expires_at })
  const made = await tenant.send<{ url: string; expires_at: string }>(
    'POST',
    `/manage/users/${userId}/calendar`,
    { token },
  )
  expect(made.expires_at).toBe(expires_at.replace('Z', '000Z'))
  expect(await tenant.send('GET', `/manage/users/${userId}`)).toMatchObject({
    calendar_expires_at: made.expires_at,
  })
  const path = new URL(made.url).pathname
  expect((await read(path)).status).toBe(200)
  await query('UPDATE users SET calendar_expires_at = clock_timestamp() WHERE id = $1', [userId])
  expect((await read(path)).status).toBe(404)
})

test('only the hash of the secret address is stored', async () => {
  const secret = /lw_cal_[\w-]+/.exec(await newCalendar())![0]
  const rows = await query('SELECT calendar_hash FROM users WHERE id = $1', [userId])
  expect(rows).toEqual([{ calendar_hash: createHash('sha256').update(secret).digest() }])
})

test('a calendar contains nothing of an erased lead', async () => {
  const path = await newCalendar()
  const { reference } = await schedule('callbacks', localDate(2), { name: 'Unmistakable' })
  expect((await read(path)).text).toContain('Unmistakable')
  const erased = await tenant.client.request('POST', `/manage/leads/${reference}/erase`)
  expect(erased.status).toBe(202)
  expect(await factsAt(path)).toEqual([])
  await eventually(async () => expect((await read(path)).text).not.toContain(reference))
})
