import { useForm } from '../parts/form'
import { Title } from '../parts/page'
import type { Choice } from '../session'
import { openLink } from '../sign-in'

const ChooseButton = ({ choice: { account, secret } }: { choice: Choice }) => {
  const { onSubmit, failure, isBusy } = useForm(() => openLink(secret), [])
  return (
    <form class="part" aria-busy={isBusy} onSubmit={onSubmit}>
      <button type="submit">{account}</button>
      {failure}
    </form>
  )
}

/** Asks for the account after the identity provider has identified a user of several accounts. */
export const ChooseAccount = ({ choices }: { choices: Choice[] }) => (
  <section class="card sign-in">
    <Title title="Choose an account" />
    {choices.map((choice) => (
      <ChooseButton key={choice.secret} choice={choice} />
    ))}
  </section>
)
