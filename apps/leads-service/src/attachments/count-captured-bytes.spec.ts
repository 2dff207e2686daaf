import { newAccount, type RunningLeadsService, startLeadsService } from '../leads-service.fixture'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const scene = async () => {
  const { accountId, tokenId } = await newAccount(service)
  return (bytes: number, dailyLimit = 100) =>
    service.attachments.countCapturedBytes({ accountId, tokenId, bytes, dailyLimit }).then(
      () => 'counted',
      ({ code }) => code,
    )
}

test('a token never receives more bytes in a day than its limit, and accounts do not share it', async () => {
  const [count, other] = [await scene(), await scene()]
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => count(30)))
  expect(outcomes.filter((outcome) => outcome === 'counted')).toHaveLength(3)
  expect(outcomes.filter((outcome) => outcome === 'rate_limited')).toHaveLength(17)
  expect([await count(11), await count(10), await count(1)]).toEqual([
    'rate_limited',
    'counted',
    'rate_limited',
  ])
  expect(await other(100)).toBe('counted')
})

test('the next day begins anew', async () => {
  const count = await scene()
  expect([await count(100), await count(1)]).toEqual(['counted', 'rate_limited'])
  await service.db.query({ text: 'UPDATE tokens SET captured_bytes_on = captured_bytes_on - 1' })
  expect([await count(100), await count(1)]).toEqual(['counted', 'rate_limited'])
})

test('the error names the limit and when the day ends', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const request = { accountId, tokenId, bytes: 2001, dailyLimit: 2000 }
  const error = await service.attachments.countCapturedBytes(request).catch((thrown) => thrown)
  expect(error).toMatchObject({ code: 'rate_limited', message: expect.stringContaining('2,000 bytes') })
  expect(error.retryAfterS).toBeGreaterThan(0)
  expect(error.retryAfterS).toBeLessThanOrEqual(86_400)
})
