import { fastify } from 'fastify'
import { serveParent } from '../process/serve-parent'
import { listen } from './listen'

/** The least a Fastify server can do. */
async function start(): Promise<void> {
  const app = fastify()
  app.get('/', async () => ({ hello: 'world' }))
  const port = await listen(app)
  serveParent({ port }, {})
}

void start()
