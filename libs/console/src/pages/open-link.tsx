import { useForm } from '../parts/form'
import { Title } from '../parts/page'
import { openLink } from '../sign-in'

/**
 * Asks before it signs in with a sign-in link. A link that took effect without a click could be used up by a
 * program that scans e-mails.
 */
export const OpenLink = ({ secret }: { secret: string }) => {
  const { onSubmit, failure, isBusy } = useForm(() => openLink(secret), [])
  return (
    <form class="card sign-in" aria-busy={isBusy} onSubmit={onSubmit}>
      <Title title="Sign in" />
      <p class="faint">You opened a sign-in link. Each link works once.</p>
      {failure}
      <button type="submit">Sign in</button>
    </form>
  )
}
