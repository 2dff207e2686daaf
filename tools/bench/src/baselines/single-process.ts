import { fastify } from 'fastify'
import { readSettings, serving } from '../process/serving'
import { checkToken } from './check-token'
import { createLead, createSchema } from './create-lead'
import { listen } from './listen'
import { openPool } from './open-pool'
import { addReadRoutes } from './read-routes'

type Settings = { databaseUrl: string; assetsUrl: string }

/** What one would write for one machine: one Fastify process that talks to PostgreSQL itself. */
async function start({ databaseUrl, assetsUrl }: Settings): Promise<void> {
  const app = fastify()
  const pool = openPool(databaseUrl)
  app.decorateRequest('accountId', 0)
  app.addHook('onRequest', checkToken(pool))
  const routes = { pool, assetsUrl, path: '' }
  addReadRoutes(app, routes)
  app.post('/leads', { schema: createSchema }, async (request, reply) => {
    const { body } = await createLead(pool, request)
    return reply.type('application/json; charset=utf-8').send(body)
  })
  serving({ port: await listen(app) })
}

void start(readSettings<Settings>())
