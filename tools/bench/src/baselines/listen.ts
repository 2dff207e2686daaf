import type { FastifyInstance } from 'fastify'

/** Listens on any free port of the loopback; answers with it. */
export async function listen(app: FastifyInstance): Promise<number> {
  return Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
}
