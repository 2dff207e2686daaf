import { boundedStore, verifyStandard } from '@leadwire/webhook-receiver'
import fastify from 'fastify'

const { WEBHOOK_SECRET, PORT = '8000' } = process.env
// More than one process behind the address? Then write the id with the lead, in one transaction, under a unique key.
const store = boundedStore()
const app = fastify({ bodyLimit: 8 * 1024 * 1024 })

// A plugin of its own: the rest of the application keeps its JSON parser.
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
      // While an earlier attempt is in progress the lead may still be lost: only a failure brings it again.
      return reply.code(outcome === 'in_progress' ? 409 : 200).send(outcome)
    } catch (error) {
      console.error(error)
      return reply.code(500).send('not kept')
    }
  })
})

async function keep(lead) {
  if (!lead?.reference) throw new Error('there is no lead in it')
  console.log(`lead ${lead.reference}: ${lead.name}`)
}

console.log(`listening on ${await app.listen({ port: Number(PORT), host: '127.0.0.1' })}/hooks/leads`)
