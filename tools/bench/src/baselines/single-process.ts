import { fastify } from 'fastify'
import { readSettings, reportReady } from '../process/report-ready'
import { createTokenCheck } from './check-token'
import { createLead, createSchema } from './create-lead'
import { listen } from './listen'
import { openPool } from './open-pool'
import { addReadRoutes } from './read-routes'

type Settings = { databaseUrl: string; assetsUrl: string }

/** The simplest design for one machine: one Fastify process that queries PostgreSQL itself. */
async function start({ databaseUrl, assetsUrl }: Settings): Promise<void> {
  const app = fastify()
  const pool = openPool(databaseUrl)
  app.decorateRequest('accountId', 0)
  app.addHook('onRequest', createTokenCheck(pool))
  addReadRoutes(app, { pool, assetsUrl })
  app.post('/leads', { schema: createSchema }, async (request, reply) => {
    const lead = await createLead(pool, request)
    return reply.type('application/json; charset=utf-8').send(lead)
  })
  reportReady({ port: await listen(app) })
}

void start(readSettings<Settings>())
