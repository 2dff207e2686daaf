import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { eventually } from '@leadwire/test-kit'
import { type RunningGateway, startGateway } from '../gateway.fixture'

let gateway: RunningGateway
let calls: AbortSignal[]
beforeAll(async () => {
  calls = []
  gateway = await startGateway(
    {
      accounts: {
        listUsers: async (_request, { signal }) => {
          calls.push(signal)
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          return { users: [] }
        },
      },
    },
    // Sets a long time limit for the request, so that this limit does not end the call.
    { requestLimitMs: 600_000 },
  )
  await gateway.app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => gateway.stop())

test('a call ends when the client that it is for has gone', async () => {
  const { port } = gateway.app.server.address() as AddressInfo
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write('GET /manage/users HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\n\r\n')
  await eventually(() => expect(calls).toHaveLength(1))
  expect(calls[0]!.aborted).toBe(false)
  socket.destroy()
  // Only the disconnect can end the call within 20 s, because the request's own time limit is 10 minutes.
  await eventually(() => expect(calls[0]!.aborted).toBe(true), { timeoutMs: 20_000 })
})
