import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors)
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})

const ALL = { status: ['sold'], referrer: ['Phone'], postcode: ['M1'], userEmail: ['sam@example.com'] }

test('an event without values to compare passes every filter', async () => {
  await service.endpoint(1, receiver.url, { filter: ALL })
  const match = { status: 'open', referrer: 'Phone', postcode: 'M1 1AE', userEmail: undefined }
  const [other, unknown] = [doors.event(1, { match }), doors.event(1)]
  await doors.publish(other, unknown)
  const eventIds = [other.eventId, unknown.eventId]
  await eventually(async () =>
    expect((await service.client.findStoredEvents({ eventIds })).eventIds).toHaveLength(2),
  )
  await eventually(() =>
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([unknown.eventId]),
  )
})

test('a filter is stored with normalised values, until an empty filter replaces it', async () => {
  const filter = {
    status: ['sold', 'open', 'sold'],
    referrer: [],
    postcode: ['sw1a1', 'SW1A 1', 'm1'],
    userEmail: ['Sam@Example.com', 'sam@example.COM', 'sam@xn--bcher-kva.example'],
  }
  const { id: endpointId } = await service.endpoint(2, receiver.url, { filter })
  const key = { accountId: 2, endpointId }
  const shown = {
    status: ['sold', 'open'],
    referrer: [],
    postcode: ['SW1A 1', 'M1'],
    userEmail: ['sam@example.com', 'sam@bücher.example'],
  }
  const { client } = service
  expect((await client.retrieveWebhookEndpoint(key)).endpoint!.filter).toEqual(shown)
  expect((await client.updateWebhookEndpoint({ ...key, enabled: false })).endpoint!.filter).toEqual(shown)
  const removed = await client.updateWebhookEndpoint({ ...key, filter: {} })
  expect(removed.endpoint).toMatchObject({ enabled: false })
  expect(removed.endpoint!.filter).toBeUndefined()
})

test('an erasure deletes the values that filters compare', async () => {
  const match = { status: 'open', referrer: 'Phone', postcode: 'ZE3 9JZ', userEmail: 'Sam@example.com' }
  const [first, other] = [0, 1].map(() => doors.event(4, { match }))
  await doors.publish(first!, other!)
  const stored = async () => {
    const rows = await doors.rows<{ id: string; match: object | null }>(
      'SELECT id, match FROM events WHERE account_id = 4',
    )
    return Object.fromEntries(rows.map(({ id, match }) => [id, match]))
  }
  const kept = { status: 'open', referrer: 'Phone', postcode: 'ZE3 9JZ', user_email: 'sam@example.com' }
  await eventually(async () =>
    expect(await stored()).toEqual({ [first!.eventId]: kept, [other!.eventId]: kept }),
  )
  const { leadReference } = first!
  await service.client.eraseLeadEvents({ accountId: 4, leadReference, eventIds: [], tombstone: false })
  expect(await stored()).toEqual({ [first!.eventId]: null, [other!.eventId]: kept })
})
