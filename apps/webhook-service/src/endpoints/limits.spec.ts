import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>

beforeAll(async () => {
  doors = await openDoors()
  // Each concurrent call has a connection. A call that waited 3 s for a connection would fail.
  service = await startService(doors, { WEBHOOK_ENDPOINTS_PER_ACCOUNT: 5, DATABASE_POOL_SIZE: 25 })
})
afterAll(async () => {
  await service.stop()
  await doors.close()
})

const create = (accountId: number) =>
  service.client.createWebhookEndpoint({ accountId, url: 'http://127.0.0.1:9/', enabled: true })

test('an account never exceeds its limit of endpoints, even with concurrent calls', async () => {
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => create(1)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  for (const result of results)
    if (result.status === 'rejected')
      expect(result.reason).toMatchObject({
        code: 'invalid',
        fieldErrors: { webhook_endpoints: [expect.stringContaining('5')] },
      })
  await create(2)
  const { endpoints } = await service.client.listWebhookEndpoints({ accountId: 1 })
  await service.client.deleteWebhookEndpoint({ accountId: 1, endpointId: endpoints[0]!.id })
  await create(1)
  await expect(create(1)).rejects.toMatchObject({ code: 'invalid' })
})
