import { CopyButton } from './copy-button'

/** A secret that the API shows only once. */
export const Secret = ({
  title,
  secret,
  note,
  onStored,
}: {
  title: string
  secret: string
  note: string
  onStored: () => void
}) => (
  <section class="card padded" aria-label={title}>
    <h2>{title}</h2>
    <p class="actions">
      <code class="wrap">{secret}</code> <CopyButton text={secret} />
    </p>
    <p class="faint">{note}</p>
    <div class="actions">
      <button type="button" class="quiet" onClick={onStored}>
        I have stored it
      </button>
    </div>
  </section>
)
