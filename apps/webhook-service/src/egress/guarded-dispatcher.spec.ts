import { setImmediate } from 'node:timers/promises'
import { startFullServer, startReceiver } from '@leadwire/test-kit'
import { attempter, closeAll, type Resolve } from '../attempt/attempt.fixture'

afterAll(closeAll)

const TWO = ['127.0.0.1', '127.0.0.2'].map((address) => ({ address, family: 4 }))

test('a lost SYN is sent again, although the other address refuses', async () => {
  const server = await startFullServer()
  try {
    const resolve: Resolve = async () => {
      // By then the first SYN was dropped.
      void setImmediate().then(server.accept)
      return TWO
    }
    expect(await attempter({ resolve })(`http://far.example:${server.port}/`)).toMatchObject({ status: 200 })
  } finally {
    await server.stop()
  }
})

test('an address that stays silent holds up no other one', async () => {
  const server = await startFullServer()
  const receiver = await startReceiver({ host: '127.0.0.2', port: server.port })
  try {
    const attempt = attempter({ resolve: async () => TWO })
    expect(await attempt(`http://half-dead.example:${server.port}/`)).toMatchObject({ status: 200 })
  } finally {
    await receiver.stop()
    await server.stop()
  }
})
