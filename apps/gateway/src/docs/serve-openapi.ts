import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import { VERSION } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'

const DESCRIPTION = `Stores sales leads and tells the outside world about each new one with a signed webhook.

**Tokens.** Every operation but those under Health and Assets needs \`Authorization: Bearer <token>\`. A token belongs to one account and has scopes: \`leads\` (which includes \`leads:read\`), \`leads:read\`, \`manage\`.

**Bodies** are JSON or \`application/x-www-form-urlencoded\`, at most 1 MiB. Booleans may be true, false, 1, 0, "1" and "0", in forms also \`true\` and \`false\`; a repeated field of a form is a list; integers may come as digits in a string; strings are trimmed; an empty string counts as null; unknown fields are ignored.

**Errors** are \`application/problem+json\` (RFC 9457). With status 422 \`errors\` lists every faulty field at once.

**Times** in answers are ISO 8601 in UTC with microseconds.`

const TAGS = [
  { name: 'Leads', description: 'Create, find and change leads.' },
  { name: 'Scheduling', description: 'Appointments and callbacks.' },
  { name: 'Attachments', description: 'Files of a lead.' },
  { name: 'Management', description: 'Visitor leads, images, users and tokens.' },
  { name: 'Webhooks', description: 'Where Lead Created is sent, and how that went.' },
  { name: 'Notifications', description: 'What users were told, and how that went.' },
  { name: 'Assets', description: 'Stored images.' },
  { name: 'Health', description: 'For whoever runs the service.' },
]

// Scripts come from our own files alone. The page styles itself inline, and its icons are data URLs.
const docsPolicy = (publicUrl: string | undefined) =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    // Where "try it" sends its requests.
    `connect-src 'self'${publicUrl ? ` ${new URL(publicUrl).origin}` : ''}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

const referenceName = (json: { $id?: unknown }, _base: unknown, _fragment: string, index: number) =>
  typeof json.$id === 'string' ? json.$id : `schema-${index}`

/** GET /openapi.json: OpenAPI 3.1 of every route that follows. GET /docs: a page to read it and try it on. */
export const serveOpenApi = (app: FastifyInstance, options: { publicUrl: string | undefined }): void => {
  app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Leadwire',
        version: VERSION,
        description: DESCRIPTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: options.publicUrl ?? '/' }],
      tags: TAGS,
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'A token of your account.' },
        },
      },
    },
    refResolver: { buildLocalReference: referenceName as never },
  })
  app.register(swaggerUi, { routePrefix: '/docs', staticCSP: docsPolicy(options.publicUrl) })
  app.get('/openapi.json', { schema: { hide: true } }, async (_request, reply) =>
    reply.header('access-control-allow-origin', '*').send(app.swagger()),
  )
}
