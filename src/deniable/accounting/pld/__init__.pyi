from deniable.accounting.pld.privacy_loss import PrivacyLoss, delta, epsilon

__all__ = ["PrivacyLoss", "delta", "epsilon"]
