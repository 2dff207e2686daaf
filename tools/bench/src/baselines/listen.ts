import type { FastifyInstance } from 'fastify'

/** Listens on a free port of the loopback interface. Returns the port. */
export const listen = async (app: FastifyInstance): Promise<number> =>
  Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
