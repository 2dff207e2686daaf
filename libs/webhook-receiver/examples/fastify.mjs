import { boundedStore, verifyStandard } from '@leadwire/webhook-receiver'
import fastify from 'fastify'

const { WEBHOOK_SECRET, PORT = '8000' } = process.env
// More than one process behind the address? Then this store belongs into a database that they share.
const store = boundedStore()
const app = fastify({ bodyLimit: 8 * 1024 * 1024 })

// A plugin of its own: the rest of the application keeps its JSON parser.
app.register(async (webhooks) => {
  webhooks.removeContentTypeParser('application/json')
  webhooks.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) =>
    done(null, bytes),
  )

  webhooks.post('/hooks/leads', async (request, reply) => {
    const result = await verifyStandard(request.body ?? '', request.headers, WEBHOOK_SECRET, { store })
    if (!result.ok && result.code === 'duplicate') return reply.code(200).send('known already')
    if (!result.ok) {
      console.error(`refused: ${result.code}: ${result.message}`)
      return reply.code(401).send(result.code)
    }
    try {
      await keep(result.payload.data)
    } catch (error) {
      // It shall come again: forget it before anything but a 2xx goes out.
      store.forget(result.id)
      console.error(error)
      return reply.code(500).send('not kept')
    }
    return reply.code(204).send()
  })
})

async function keep(lead) {
  if (!lead?.reference) throw new Error('there is no lead in it')
  console.log(`lead ${lead.reference}: ${lead.name}`)
}

console.log(`listening on ${await app.listen({ port: Number(PORT), host: '127.0.0.1' })}/hooks/leads`)
