import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, joinSystem, type Receiver, type SharedSystem, startReceiver } from '@leadwire/test-kit'

const MAIN = resolve(__dirname, '../../../leadwire/dist/main.js')

const EVENTS = [
  'lead.created',
  'lead.updated',
  'appointment.scheduled',
  'callback.scheduled',
  'appointment.rescheduled',
  'appointment.cancelled',
  'callback.rescheduled',
  'callback.cancelled',
  'attachment.added',
  'lead.erased',
  'note.added',
]

let system: SharedSystem
let receiver: Receiver

beforeAll(async () => {
  ;[system, receiver] = await Promise.all([joinSystem({ env: { DUPLICATE_WINDOW: '90d' } }), startReceiver()])
  const headers = { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({
    url: receiver.url,
    events: [...EVENTS, 'lead.duplicate_suspected'],
    leads: 'test',
  })
  await fetch(`${system.baseUrl}/manage/webhook-endpoints`, { method: 'POST', headers, body })
})
afterAll(async () => {
  await system?.stop()
  await receiver?.stop()
})

/**
 * Runs the command and returns its output. If the command fails, rejects with an error that has its `stderr`.
 */
const trigger = async (event: string, token = system.token) => {
  const env = { ...process.env, LEADWIRE_URL: system.baseUrl, LEADWIRE_TOKEN: token }
  return (await promisify(execFile)(process.execPath, [MAIN, 'trigger', event, '--json'], { env })).stdout
}

it.each(EVENTS)('causes %s for a test lead', async (event) => {
  const { lead_reference, ...printed } = JSON.parse(await trigger(event))
  expect(printed).toEqual({ event })
  await eventually(() => {
    const received = receiver.requests.map(({ body }) => JSON.parse(body.toString()))
    const own = received.filter(({ data }) => (data.lead_reference ?? data.reference) === lead_reference)
    const types = own
      .map(({ type = 'lead.created' }) => type)
      .filter((type) => type !== 'lead.duplicate_suspected')
    const before = /\.(rescheduled|cancelled)$/.test(event) ? [event.replace(/\w+$/, 'scheduled')] : []
    expect(types.sort()).toEqual([...new Set(['lead.created', ...before, event])].sort())
  })
})

it('causes lead.duplicate_suspected for a second lead', async () => {
  const { lead_reference } = JSON.parse(await trigger('lead.duplicate_suspected'))
  await eventually(() => {
    const received = receiver.requests.map(({ body }) => JSON.parse(body.toString()))
    expect(received).toContainEqual({
      type: 'lead.duplicate_suspected',
      data: {
        reference: expect.any(String),
        suspects: expect.arrayContaining([
          { reference: lead_reference, reasons: ['email', 'phone', 'name_postcode'] },
        ]),
      },
    })
  })
})

it('creates one user for all appointments', async () => {
  const headers = { authorization: `Bearer ${system.token}` }
  const users = await fetch(`${system.baseUrl}/manage/users`, { headers })
  expect(((await users.json()) as { data: object[] }).data).toHaveLength(1)
})

it('lists the known events if the event is unknown', async () => {
  await expect(trigger('lead.changed')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`Allowed choices are ${EVENTS.join(', ')}, lead.duplicate_suspected.`),
  })
})

it('says that the token was refused', async () => {
  await expect(trigger('lead.created', 'wrong')).rejects.toMatchObject({
    code: 1,
    stderr: 'leadwire: The token was rejected: The bearer token is not valid.\n',
  })
})
