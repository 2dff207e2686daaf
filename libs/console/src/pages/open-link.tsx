import { useEffect, useState } from 'preact/hooks'
import type { Me } from '../api'
import { useForm } from '../parts/form'
import { Title } from '../parts/page'
import { identifyLink, openLink } from '../sign-in'

/**
 * Asks before it signs in with a sign-in link. A link that took effect without a click could be used up by a
 * program that scans e-mails. Names the person, because the link may come from a stranger.
 */
export const OpenLink = ({ secret }: { secret: string }) => {
  const [person, setPerson] = useState<Me>()
  useEffect(() => {
    const controller = new AbortController()
    identifyLink(secret, controller.signal).then(setPerson, () => undefined)
    return () => controller.abort()
  }, [secret])
  const { onSubmit, failure, isBusy } = useForm(() => openLink(secret), [])
  return (
    <form class="card sign-in" aria-busy={isBusy} onSubmit={onSubmit}>
      <Title title="Sign in" />
      <p class="faint">You opened a sign-in link. Each link works once.</p>
      {person && (
        <p>
          It signs you in to <strong>{person.account.name}</strong> as <strong>{person.name}</strong>.
        </p>
      )}
      {failure}
      <button type="submit">Sign in</button>
    </form>
  )
}
