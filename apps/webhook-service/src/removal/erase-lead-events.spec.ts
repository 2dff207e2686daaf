import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors, { WEBHOOK_TIMEOUT: 1000 })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})

test('an attempt in flight is reported until it has ended, and the event of the erasure is left alone', async () => {
  await service.endpoint(1, receiver.url)
  receiver.answerWith('hang')
  const created = doors.event(1)
  const { leadReference } = created
  await doors.publish(created)
  await eventually(() => expect(receiver.requests).toHaveLength(1))

  const asked = { accountId: 1, leadReference, eventIds: [created.eventId], tombstone: false }
  const erase = () => service.client.eraseLeadEvents(asked)
  expect(await erase()).toMatchObject({ webhookEvents: 1, cancelledDeliveries: 1, attemptsInFlight: true })
  await doors.publish(doors.event(1, { leadReference, type: 'lead.erased', leadVersion: 2 }))
  await eventually(async () => expect(await erase()).toMatchObject({ attemptsInFlight: false }), {
    timeoutMs: 10_000,
  })
  expect(receiver.requests).toHaveLength(1)
  const rows = await doors.rows(
    'SELECT type, number::int, body = $1 AS empty, (SELECT attempt_count FROM deliveries WHERE event_id = e.id) AS attempts FROM events e ORDER BY e.number',
    [Buffer.alloc(0)],
  )
  expect(rows).toEqual([
    { type: 'lead.created', number: 1, empty: true, attempts: 0 },
    { type: 'lead.erased', number: 2, empty: false, attempts: null },
  ])
})
