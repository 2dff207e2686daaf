import type { Migration } from '@leadwire/service-kit'

/** Why an attempt failed, in a sentence. */
export const attemptReason: Migration = {
  name: '002-attempt-reason',
  transaction: false,
  up: async (knex) => {
    for (const schema of ['public', 'notifications'])
      await knex.transaction(async (tx) => {
        await tx.raw("SET LOCAL lock_timeout = '500ms'")
        await tx.raw(`ALTER TABLE ${schema}.attempts ADD COLUMN IF NOT EXISTS reason text`)
      })
  },
}
