import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { freePort } from './free-port'

test('a port is reserved in all processes before a server listens on it', async () => {
  const port = await freePort()
  // Reserves the port as another process would.
  const other = createSocket('udp4')
  other.bind({ port, address: '127.0.0.1', exclusive: true })
  const [error] = (await once(other, 'error')) as [NodeJS.ErrnoException]
  expect(error.code).toBe('EADDRINUSE')
  other.close()

  const choose = jest.spyOn(Math, 'random')
  const chosen = (value: number) => (value - 20_000 + 0.5) / 12_000
  choose.mockReturnValueOnce(chosen(port))
  expect(await freePort()).not.toBe(port)
  choose.mockRestore()
})
