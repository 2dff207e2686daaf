import type { CheckReferencesRequest, CheckReferencesResponse } from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { isId, isText, isUuid, validate } from '../../arguments'
import { emailForm } from '../../contacts/email-form'

const CHECK = `
  SELECT
    $2::uuid IS NULL OR EXISTS (SELECT 1 FROM leads WHERE reference = $2 AND account_id = $1) AS lead,
    $3::bigint IS NULL
      OR EXISTS (SELECT 1 FROM users WHERE account_id = $1 AND id = $3 AND removed_at IS NULL) AS user_by_id,
    $4::text IS NULL
      OR EXISTS (SELECT 1 FROM users WHERE account_id = $1 AND lower(email) = lower($4) AND removed_at IS NULL)
      AS user_by_email,
    ARRAY (
      SELECT asked.id FROM unnest($5::bigint[]) AS asked (id)
      WHERE NOT EXISTS (SELECT 1 FROM images WHERE account_id = $1 AND images.id = asked.id)
    )::text[] AS missing_images`

/** Finds the missing references of an invalid request, so that its response lists all errors. */
export const checkReferences =
  (deps: { database: Database }) =>
  async (request: CheckReferencesRequest): Promise<CheckReferencesResponse> => {
    const { accountId, leadReference, userId, userEmail, imageIds } = request
    validate({ account_id: isId(accountId), user_email: isText(userEmail ?? '', 320) })
    if (leadReference !== undefined && !isUuid(leadReference)) {
      return { leadMissing: true, userMissing: false, missingImageIds: [] }
    }
    const [found] = await deps.database.query<{
      lead: boolean
      user_by_id: boolean
      user_by_email: boolean
      missing_images: string[]
    }>({
      name: 'check-references',
      text: CHECK,
      values: [
        accountId,
        leadReference ?? null,
        userId ?? null,
        userEmail === undefined ? null : emailForm(userEmail),
        imageIds,
      ],
    })
    return {
      leadMissing: !found!.lead,
      userMissing: !found!.user_by_id || !found!.user_by_email,
      missingImageIds: found!.missing_images.map(Number),
    }
  }
