/** How to name an MQTT broker in the settings, with lines to copy. */

import { t } from "../../app/i18n";
import { CopyButton } from "../../kit/parts";
import { Notice } from "../../parts/notice";

const FILE = `[[mqtt_brokers]]
url = "mqtt://127.0.0.1:1883"
`;
const COMMAND = "domogate serve --config domogate.toml";

export function BrokerHelp() {
  return (
    <Notice kind="warn" title={t("console.broker_help.title")}>
      <p>{t("console.broker_help.file")}</p>
      <Lines text={FILE} />
      <p>{t("console.broker_help.command")}</p>
      <Lines text={COMMAND} />
      <p>{t("console.broker_help.after")}</p>
    </Notice>
  );
}

function Lines({ text }: { text: string }) {
  return (
    <div class="lines-to-copy">
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton value={text} />
    </div>
  );
}
