import { createHmac } from 'node:crypto'
import { fastify } from 'fastify'
import { Pool } from 'undici'
import { readSettings, serveParent } from '../process/serve-parent'
import { checkToken } from './check-token'
import { createLead, createSchema } from './create-lead'
import { listen } from './listen'
import { openPool } from './open-pool'

type Settings = { databaseUrl: string; receiverPort: number }

const SECRET = 'a-secret-of-the-benchmark'

/** Inserts in one transaction, answers, and POSTs the webhook itself: quick, and lost when the process dies between. */
async function start({ databaseUrl, receiverPort }: Settings): Promise<void> {
  const app = fastify()
  const pool = openPool(databaseUrl)
  const receiver = new Pool(`http://127.0.0.1:${receiverPort}`, { connections: 64 })
  app.decorateRequest('accountId', 0)
  app.addHook('onRequest', checkToken(pool))

  const post = async (body: string, apiKey: string) => {
    const answer = await receiver.request({
      method: 'POST',
      path: '/ok',
      headers: {
        'content-type': 'application/json',
        'x-service-signature': createHmac('sha1', SECRET).update(body).digest('hex'),
        'x-service-account-key': apiKey,
      },
      body,
    })
    await answer.body.dump()
  }
  app.post('/leads', { schema: createSchema }, async (request, reply) => {
    const { apiKey, body } = await createLead(pool, request)
    reply.type('application/json; charset=utf-8').send(body)
    post(body, apiKey).catch((error) => console.error(error))
    return reply
  })
  const port = await listen(app)
  serveParent({ port }, {})
}

void start(readSettings<Settings>())
