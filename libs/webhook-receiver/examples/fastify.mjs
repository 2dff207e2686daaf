import { boundedStore, verifyStandard } from '@leadwire/webhook-receiver'
import fastify from 'fastify'

const { WEBHOOK_SECRET, PORT = '8000' } = process.env
// This store is for a single process. For several processes, write the id and the lead in one database
// transaction instead, with a unique key for the id.
const store = boundedStore()
const app = fastify({ bodyLimit: 8 * 1024 * 1024 })

// Adds the route in a separate plugin, so that the rest of the application keeps its JSON parser.
app.register(async (webhooks) => {
  webhooks.removeContentTypeParser('application/json')
  webhooks.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, bytes, done) =>
    done(null, bytes),
  )

  webhooks.post('/hooks/leads', async (request, reply) => {
    const result = verifyStandard(request.body ?? '', request.headers, WEBHOOK_SECRET)
    if (!result.ok) {
      console.error(`refused: ${result.code}: ${result.message}`)
      return reply.code(401).send(result.code)
    }
    try {
      const outcome = await store.once(result.id, () => keep(result.payload.data))
      // An earlier attempt that is in progress may still fail. 409 makes Leadwire send the lead again.
      return reply.code(outcome === 'in_progress' ? 409 : 200).send(outcome)
    } catch (error) {
      console.error(error)
      return reply.code(500).send('not kept')
    }
  })
})

async function keep(lead) {
  if (!lead?.reference) throw new Error('the body has no lead')
  console.log(`lead ${lead.reference}: ${lead.name}`)
}

console.log(`listening on ${await app.listen({ port: Number(PORT), host: '127.0.0.1' })}/hooks/leads`)
