"""Field encryption: bound to its place, rotating, and silent about what it protects."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contextos.core.errors import ContextOSError
from contextos.core.fieldcrypt import FieldCipher, generate_key
from tests.depth import examples

OLD, NEW = generate_key(), generate_key()
CONTEXT = "identity.totp:1"


@pytest.mark.proves("C7")
@given(st.binary(max_size=200), st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_what_was_encrypted_decrypts_under_its_context(plain: bytes, context: str) -> None:
    cipher = FieldCipher([NEW, OLD])
    sealed = cipher.encrypt(plain, context=context)
    assert cipher.decrypt(sealed, context=context) == plain
    assert cipher.decrypt(memoryview(sealed), context=context) == plain


@pytest.mark.proves("C7")
def test_a_ciphertext_moved_to_another_row_does_not_decrypt() -> None:
    cipher = FieldCipher([NEW])
    sealed = cipher.encrypt(b"seed", context="identity.totp:1")
    with pytest.raises(ContextOSError) as caught:
        cipher.decrypt(sealed, context="identity.totp:2")
    assert caught.value.code == "field.undecryptable"


@settings(max_examples=examples(60))
@given(st.data())
def test_no_changed_bit_goes_unnoticed(data: st.DataObject) -> None:
    cipher = FieldCipher([NEW])
    sealed = bytearray(cipher.encrypt(b"a secret", context=CONTEXT))
    position = data.draw(st.integers(0, len(sealed) - 1))
    sealed[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(ContextOSError):
        cipher.decrypt(bytes(sealed), context=CONTEXT)


@pytest.mark.parametrize("length", range(34))
def test_a_cut_ciphertext_is_refused(length: int) -> None:
    cipher = FieldCipher([NEW])
    sealed = cipher.encrypt(b"a", context=CONTEXT)
    with pytest.raises(ContextOSError):
        cipher.decrypt(sealed[:length][: len(sealed) - 1], context=CONTEXT)


def test_an_old_key_still_decrypts_and_asks_for_rotation() -> None:
    sealed = FieldCipher([OLD]).encrypt(b"secret", context=CONTEXT)
    rotated = FieldCipher([NEW, OLD])
    assert rotated.decrypt(sealed, context=CONTEXT) == b"secret"
    assert rotated.needs_rotation(sealed)
    assert not rotated.needs_rotation(rotated.encrypt(b"secret", context=CONTEXT))


def test_a_key_that_was_taken_out_no_longer_decrypts() -> None:
    sealed = FieldCipher([OLD]).encrypt(b"hunter2", context=CONTEXT)
    with pytest.raises(ContextOSError) as caught:
        FieldCipher([NEW]).decrypt(sealed, context=CONTEXT)
    assert caught.value.code == "field.undecryptable"
    assert "hunter2" not in str(caught.value)


def test_equal_secrets_do_not_look_equal() -> None:
    cipher = FieldCipher([NEW])
    assert cipher.encrypt(b"x", context="c") != cipher.encrypt(b"x", context="c")


def test_a_fingerprint_tells_secrets_apart_only_with_the_key() -> None:
    cipher = FieldCipher([NEW])
    mark = cipher.fingerprint(b"secret", context="a")
    assert mark == cipher.fingerprint(b"secret", context="a")
    assert len(mark) == 12
    others = {
        cipher.fingerprint(b"other", context="a"),
        cipher.fingerprint(b"secret", context="b"),
        FieldCipher([OLD]).fingerprint(b"secret", context="a"),
    }
    assert mark not in others


@pytest.mark.parametrize("keys", [[], [""], ["short"], [" " * 40], [NEW, "QUJD"]])
def test_missing_or_short_keys_refuse_to_start(keys: list[str]) -> None:
    with pytest.raises(ContextOSError) as caught:
        FieldCipher(keys)
    assert caught.value.code == "field_key.invalid"
    assert not any(key.strip() and key in str(caught.value) for key in keys)
