import { eventually } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors)
})
afterAll(async () => {
  await service.stop()
  await doors.close()
})

test('an attempt that is recorded while its event is removed leaves no rows', async () => {
  const readRows = (table: string) => doors.rows<{ id: string }>(`SELECT * FROM ${table}`)
  await service.endpoint(1, 'http://127.0.0.1:1/', { enabled: false })
  const event = doors.event(1)
  await doors.publish(event)
  await eventually(async () => expect(await readRows('deliveries')).toHaveLength(1))
  await doors.rows('BEGIN')
  await doors.rows('UPDATE deliveries SET attempt_count = 1')
  await doors.rows(
    `INSERT INTO attempts (delivery_id, number, started_at, duration_ms, error) SELECT id, 1, now(), 1, 'timeout' FROM deliveries`,
  )
  const removed = service.client.removeLeadEvents({ accountId: 1, leadReferences: [event.leadReference] })
  // Counts only waits for this transaction, because other specs use the same server.
  const waits = 'SELECT FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid'
  await eventually(async () => expect(await doors.rows(waits)).toHaveLength(1))
  await doors.rows('COMMIT')
  await removed
  for (const table of ['events', 'deliveries', 'attempts']) expect(await readRows(table)).toEqual([])
})

test('an event that is stored after its lead was removed is removed with the account', async () => {
  const event = doors.event(2)
  await service.client.removeLeadEvents({ accountId: 2, leadReferences: [event.leadReference] })
  await doors.publish(event)
  const readRows = (table: string) => doors.rows(`SELECT FROM ${table} WHERE account_id = 2`)
  await eventually(async () => expect(await readRows('events')).toHaveLength(1))
  await eventually(async () =>
    expect(await service.client.removeAccount({ accountId: 2 })).toEqual({ done: true }),
  )
  for (const table of ['events', 'event_counters']) expect(await readRows(table)).toEqual([])
})
