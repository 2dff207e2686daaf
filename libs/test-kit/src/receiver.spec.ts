import { request } from 'undici'
import { startReceiver } from './receiver'

describe('startReceiver', () => {
  const post = (url: string, body: Buffer, headersTimeout = 60_000) =>
    request(url, {
      method: 'POST',
      body,
      headers: { 'X-Some-Header': 'v' },
      headersTimeout,
      reset: true,
    })

  test('records the very bytes and answers as it is told', async () => {
    const receiver = await startReceiver()
    try {
      const bytes = Buffer.from([0x7b, 0xff, 0x00, 0x7d])
      expect((await post(receiver.url, bytes)).statusCode).toBe(200)
      expect(receiver.requests).toMatchObject([
        { method: 'POST', url: '/hooks/leads', headers: { 'x-some-header': 'v' } },
      ])
      expect(receiver.requests[0]!.body).toEqual(bytes)
      expect(receiver.requests[0]!.rawHeaders).toContain('X-Some-Header')

      receiver.answerWith((_, index) =>
        index === 1 ? { status: 302, headers: { location: '/x' } } : 'close',
      )
      expect((await post(receiver.url, bytes)).headers['location']).toBe('/x')
      await expect(post(receiver.url, bytes)).rejects.toThrow()
      receiver.answerWith('hang')
      await expect(post(receiver.url, bytes, 300)).rejects.toThrow('Headers Timeout')
      receiver.answerWith({ status: 500, body: 'no', delayMs: 20 })
      const late = await post(receiver.url, bytes)
      expect([late.statusCode, await late.body.text()]).toEqual([500, 'no'])
      expect(receiver.requests).toHaveLength(5)
    } finally {
      await receiver.stop()
    }
    await expect(post(receiver.url, Buffer.alloc(0))).rejects.toThrow('ECONNREFUSED')
  })
})
