import { type RunningGateway, startGateway } from '../gateway.fixture'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())
test('x', async () => {
  const r = await gateway.send({ url: '/leads/statuses' })
  console.log(r)
  console.log(await gateway.send({ url: '/nope' }))
  console.log(await gateway.send({ url: '/openapi.json' }).then((r) => r.body))
  console.log(await gateway.send({ method: 'PATCH', url: '/leads/statuses' }))
})
